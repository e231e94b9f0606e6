#include "tests/simulator/command.hpp"
#include "tests/simulator/mount.hpp"
#include "tests/simulator/options.hpp"

#include <fmt/format.h>

#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <string>

namespace vgpu::simulator {

namespace {

int complain(const std::string& text, int status) {
    fmt::print(stderr, "vgpu-simulator: {}\n", text);
    return status;
}

/// Blocks the ending signals in every thread and gives a descriptor that becomes readable with
/// them. SIGUSR1 is libfuse's for interrupted requests: threads let it in only while they wait.
int ending_signals() {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    const int descriptor = signalfd(-1, &signals, SFD_CLOEXEC);
    sigaddset(&signals, SIGUSR1);
    sigprocmask(SIG_BLOCK, &signals, nullptr);
    struct sigaction interrupted{};
    interrupted.sa_handler = [](int) {};
    sigaction(SIGUSR1, &interrupted, nullptr);
    signal(SIGPIPE, SIG_IGN);
    return descriptor;
}

void remove_stale_mount(const std::string& mountpoint) {
    struct stat status{};
    if (::stat(mountpoint.c_str(), &status) != 0 && errno == ENOTCONN) {
        umount2(mountpoint.c_str(), MNT_DETACH);
    }
}

/// Lets every operation that waits go, so that no thread is left in it.
void let_go(Host& host) {
    const std::lock_guard lock(host.mutex);
    host.stopping = true;
    host.waiters.wake_all();
}

int run(const Options& options) {
    const int signals = ending_signals();
    if (options.die_with_parent) {
        const auto parent = getppid();
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() != parent) {
            return complain("the parent process has ended", 1);
        }
    }
    if (options.replace_stale) {
        remove_stale_mount(options.mountpoint);
    }
    std::error_code error;
    const auto mountpoint =
        std::filesystem::absolute(options.mountpoint, error).lexically_normal().string();
    Host host(mountpoint.ends_with('/') ? mountpoint.substr(0, mountpoint.size() - 1) : mountpoint);
    if (const auto done = execute_file(host, options.configuration); !done) {
        return complain(done.error(), 2);
    }
    FileSystem files(host, options.cache);
    auto mount = Mount::create(files, host.mountpoint);
    if (!mount) {
        return complain(mount.error(), 1);
    }
    const auto ready = fmt::format("ready {}\n", host.mountpoint);
    if (write(options.ready_fd, ready.data(), ready.size()) < 0) {
        return complain("nobody reads that it is ready", 1);
    }
    (*mount)->serve(signals, [&] { let_go(host); });
    return 0;
}

} // namespace

} // namespace vgpu::simulator

int main(int count, char** arguments) {
    const auto options = vgpu::simulator::parse_options(count, arguments);
    return options ? vgpu::simulator::run(*options) : options.error();
}
