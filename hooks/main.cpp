#include "agent/core/file_io.hpp"
#include "hooks/hook_runner.hpp"
#include "hooks/surroundings.hpp"
#include "xml/domain.hpp"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <string_view>

namespace {

constexpr const char* usage =
    "usage: virt-vgpu-hook DOMAIN OPERATION SUB-OPERATION EXTRA <DOMAIN.xml\n"
    "\n"
    "libvirt's qemu hook of virt-vgpu: claims and configures a domain's vGPUs before it starts, "
    "wipes and frees them\n"
    "after it stopped. libvirt runs it; link it as /etc/libvirt/hooks/qemu.d/virt-vgpu and restart "
    "the libvirt daemon\n"
    "once. See virt-vgpu-hook(8).\n";

int run_for_a_person(std::string_view option) {
    if (option == "--version") {
        std::puts("virt-vgpu-hook " VGPU_VERSION);
        return 0;
    }
    std::fputs(usage, option == "--help" ? stdout : stderr);
    return option == "--help" ? 0 : 2;
}

int exit_code_of_deadline = 0;

/// The last resort, when something that is not a driver's attribute does not come back: a disk,
/// /proc. The state left behind is one that a kill at that moment would leave, which every next run
/// can deal with.
extern "C" void on_alarm(int) {
    constexpr std::string_view text =
        "virt-vgpu: gave up at the hook's deadline; see the journal of virt-vgpu-hook\n";
    if (exit_code_of_deadline != 0) {
        vgpu::write_message(text, std::chrono::milliseconds(0));
    }
    ::_exit(exit_code_of_deadline);
}

void set_last_resort(vgpu::HookOperation operation) {
    exit_code_of_deadline = operation == vgpu::HookOperation::prepare ? 1 : 0;
    struct sigaction action{};
    action.sa_handler = on_alarm;
    ::sigaction(SIGALRM, &action, nullptr);
    sigset_t alarm_signal;
    ::sigemptyset(&alarm_signal);
    ::sigaddset(&alarm_signal, SIGALRM);
    ::sigprocmask(SIG_UNBLOCK, &alarm_signal, nullptr);
    // A write that cannot be made is an error of that write, never the end of the hook.
    ::signal(SIGPIPE, SIG_IGN);
    ::signal(SIGXFSZ, SIG_IGN);
    constexpr unsigned until_the_configuration_is_read = 10;
    ::alarm(until_the_configuration_is_read);
}

int run(int argc, const char* const* argv) {
    const vgpu::OrphanCheck orphan;
    const std::string_view first = argc == 2 ? argv[1] : "";
    if (argc < 2 || first.starts_with("-")) {
        return run_for_a_person(first);
    }
    const vgpu::Invocation invocation = vgpu::parse_invocation(argc, argv);
    if (invocation.operation == vgpu::HookOperation::nothing) {
        return 0;
    }
    set_last_resort(invocation.operation);
    vgpu::keep_standard_files_only();
    ::umask(022);
    const auto xml = vgpu::read_descriptor(STDIN_FILENO, "the domain's XML on stdin",
                                           vgpu::xml::max_domain_xml_bytes);
    std::string message;
    const int code = vgpu::run_hook(invocation, xml, orphan, ::geteuid() == 0, message);
    if (!message.empty()) {
        vgpu::write_message(message + "\n", std::chrono::seconds(1));
    }
    return code;
}

} // namespace

int main(int argc, char** argv) {
    try {
        return run(argc, argv);
    } catch (const std::exception& error) {
        // Out of memory, or a fault of ours: a guest is never killed for it, a start is refused.
        const bool memory = dynamic_cast<const std::bad_alloc*>(&error) != nullptr;
        std::fprintf(stderr, "virt-vgpu: %s\n",
                     memory ? "out of memory: see the limits of the libvirt daemon's unit"
                            : error.what());
        return argc > 2 && std::string_view(argv[2]) == "prepare" ? 1 : 0;
    }
}
