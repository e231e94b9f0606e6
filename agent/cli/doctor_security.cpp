#include "agent/cli/doctor.hpp"
#include "agent/cli/hook_site.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace vgpu::cli {

namespace {

/// The hook of this installation, as libvirt would run it; empty if there is none.
std::string hook_program(const Examination& examination) {
    const auto entries = hook_entries(examination.hooks_directory);
    if (!entries) {
        return {};
    }
    for (const HookEntry& entry : *entries) {
        if (entry.path == examination.hooks_directory + "/qemu.d/virt-vgpu" && entry.runs()) {
            return entry.target;
        }
    }
    return {};
}

void check_memlock(const DaemonProcess& daemon, Findings& findings) {
    const std::string who = fmt::format("{} (pid {})", daemon.name, daemon.pid);
    if (daemon.may_raise_limits) {
        findings.ok("memlock",
                    who + " may raise the locked memory of a guest to what its vGPU needs");
    } else if (daemon.memlock.starts_with("unlimited")) {
        findings.ok("memlock", who + " may lock any amount of memory");
    } else {
        findings.fail(
            "memlock",
            fmt::format("{} has no CAP_SYS_RESOURCE and a limit of {}: guests with a vGPU are "
                        "pinned in memory and will fail (\"cannot limit locked memory\", "
                        "\"VFIO_MAP_DMA failed\")",
                        who, daemon.memlock.empty() ? "?" : daemon.memlock),
            "give the service LimitMEMLOCK=infinity, or leave it its capabilities "
            "(systemctl edit; a container needs --ulimit memlock=-1)");
    }
}

/// A profile of libvirtd lets it run programs of a few directories only (usr.sbin.libvirtd).
void check_apparmor(const DaemonProcess& daemon, const std::string& program, Findings& findings) {
    constexpr std::array<std::string_view, 4> allowed{"/usr/sbin/", "/usr/bin/", "/sbin/", "/bin/"};
    const bool fits = program.empty() || std::any_of(allowed.begin(), allowed.end(),
                                                     [&program](std::string_view start) {
                                                         return program.starts_with(start);
                                                     });
    const std::string seen = fmt::format("{} is confined: {}", daemon.name, daemon.confinement);
    if (fits) {
        findings.ok("apparmor", seen + "; it may run the hook where it is");
    } else {
        findings.fail("apparmor", fmt::format("{}, and may not run {}", seen, program),
                      "install the hook in /usr/sbin, or allow it in "
                      "/etc/apparmor.d/local/usr.sbin.libvirtd");
    }
}

void check_selinux(const Examination& examination, Findings& findings) {
    const auto enforcing = examination.host.sysfs.read("fs/selinux/enforce");
    if (!enforcing || *enforcing != "1") {
        return;
    }
    const auto flag = examination.host.sysfs.read("fs/selinux/booleans/virt_hooks_unconfined");
    if (flag && flag->starts_with("1")) {
        findings.ok("selinux", "enforcing, and virt_hooks_unconfined is on");
    } else {
        findings.warn(
            "selinux",
            "enforcing, and virt_hooks_unconfined is not on: the hook may be denied what it "
            "needs",
            "setsebool -P virt_hooks_unconfined on");
    }
}

} // namespace

void check_security(const Examination& examination, Findings& findings) {
    if (examination.daemons.empty()) {
        findings.skip("memlock", "no libvirtd or virtqemud is running");
    }
    const std::string program = hook_program(examination);
    for (const DaemonProcess& daemon : examination.daemons) {
        check_memlock(daemon, findings);
        if (daemon.confinement.ends_with("(enforce)")) {
            check_apparmor(daemon, program, findings);
        }
    }
    check_selinux(examination, findings);
}

} // namespace vgpu::cli
