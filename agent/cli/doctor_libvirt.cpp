#include "agent/cli/doctor.hpp"
#include "agent/core/file_io.hpp"
#include "agent/core/posix_sysfs.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <sstream>

namespace vgpu::cli {

namespace {

constexpr const char* libvirt = "libvirt";
constexpr Version recommended = 10000000;
constexpr Version iommufd_hotplug_broken = 12001000;
constexpr Version iommufd_hotplug_fixed = 12002000;
constexpr unsigned cap_sys_resource = 24;

/// The rest of the line of a /proc file that starts with `key`.
std::string line_after(const std::string& text, std::string_view key) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        if (std::string_view(line).starts_with(key)) {
            const std::size_t start = line.find_first_not_of(" \t", key.size());
            return start == std::string::npos ? "" : line.substr(start);
        }
    }
    return {};
}

std::string proc_file(const Proc& proc, std::int64_t pid, const char* name) {
    constexpr std::size_t most = std::size_t{64} * 1024;
    auto text = read_small_file(fmt::format("{}/{}/{}", proc.root(), pid, name), most);
    return text ? std::move(*text) : std::string();
}

/// Seconds since 1970 at which this boot began; nullopt if /proc does not say.
std::optional<std::time_t> boot_time(const Proc& proc) {
    constexpr std::size_t most = std::size_t{4} * 1024 * 1024; // a line for each interrupt and CPU
    const auto text = read_small_file(proc.root() + "/stat", most);
    const std::string number = text ? line_after(*text, "btime ") : "";
    std::time_t value = 0;
    const auto parsed = std::from_chars(number.data(), number.data() + number.size(), value);
    return parsed.ec == std::errc() ? std::optional(value) : std::nullopt;
}

std::optional<std::time_t> start_of(const Proc& proc, std::int64_t pid) {
    const auto boot = boot_time(proc);
    const auto ticks = proc.start_time(pid);
    const long per_second = ::sysconf(_SC_CLK_TCK);
    if (!boot || !ticks || !*ticks || per_second <= 0) {
        return std::nullopt;
    }
    return *boot + static_cast<std::time_t>(**ticks / static_cast<std::uint64_t>(per_second));
}

bool has_capability(const std::string& hex, unsigned bit) {
    std::uint64_t mask = 0;
    std::from_chars(hex.data(), hex.data() + hex.size(), mask, 16);
    return (mask >> bit & 1U) != 0;
}

DaemonProcess daemon_at(const Proc& proc, std::int64_t pid, std::string name) {
    DaemonProcess daemon;
    daemon.pid = pid;
    daemon.name = std::move(name);
    daemon.started = start_of(proc, pid);
    daemon.confinement = proc_file(proc, pid, "attr/current");
    while (!daemon.confinement.empty() &&
           (daemon.confinement.back() == '\n' || daemon.confinement.back() == '\0')) {
        daemon.confinement.pop_back();
    }
    daemon.may_raise_limits =
        has_capability(line_after(proc_file(proc, pid, "status"), "CapEff:"), cap_sys_resource);
    daemon.memlock = line_after(proc_file(proc, pid, "limits"), "Max locked memory");
    return daemon;
}

void check_versions(const HypervisorFacts& facts, const Inventory& inventory, Findings& findings) {
    const bool vendor =
        std::any_of(inventory.gpus.begin(), inventory.gpus.end(), [](const GpuInfo& gpu) {
            return gpu.managed && gpu.framework == FrameworkKind::vendor_vfio;
        });
    const auto obstacle = vendor ? vendor_vfio_obstacle(facts) : std::nullopt;
    const std::string seen = fmt::format("the daemon is {}", version_text(facts.libvirt));
    if (obstacle) {
        findings.fail(libvirt, obstacle->text(), "see virt-vgpu(1), REQUIREMENTS");
    } else if (facts.libvirt >= iommufd_hotplug_broken && facts.libvirt < iommufd_hotplug_fixed) {
        findings.warn(libvirt, seen + ": 12.1 can crash when a device is hot-plugged",
                      "take 12.2 or newer, or do not hot-plug");
    } else if (vendor && facts.libvirt < recommended) {
        findings.ok(libvirt, seen + " (10.0 or newer is recommended for VFs)");
    } else {
        findings.ok(libvirt, seen);
    }
    if (facts.hypervisor == 0) {
        findings.fail("qemu", fmt::format("{} knows no QEMU on this host", facts.driver),
                      "install qemu-system-x86 (Debian, Ubuntu) or qemu-kvm (RHEL, Fedora)");
    } else {
        findings.ok("qemu", fmt::format("{} {}", facts.driver, version_text(facts.hypervisor)));
    }
}

} // namespace

std::vector<DaemonProcess> find_daemons(const Proc& proc) {
    std::vector<DaemonProcess> daemons;
    PosixSysfs files(proc.root());
    const auto names = files.list("");
    if (!names) {
        return daemons;
    }
    for (const std::string& entry : *names) {
        std::int64_t pid = 0;
        const char* end = entry.data() + entry.size();
        const auto parsed = std::from_chars(entry.data(), end, pid);
        if (parsed.ec != std::errc() || parsed.ptr != end) {
            continue;
        }
        std::string name = proc.name(pid);
        const std::string uid = line_after(proc_file(proc, pid, "status"), "Uid:");
        if ((name == "libvirtd" || name == "virtqemud") && uid.starts_with("0")) {
            daemons.push_back(daemon_at(proc, pid, std::move(name)));
        }
    }
    return daemons;
}

void check_libvirt(const Examination& examination, Findings& findings) {
    const std::string& uri = examination.host.config.libvirt.uri;
    if (!examination.libvirt) {
        findings.fail(
            libvirt, fmt::format("{} cannot be asked: {}", uri, examination.libvirt.error().text()),
            "start the daemon (systemctl start libvirtd, or virtqemud.socket) and run "
            "doctor as root; what concerns domains is not checked");
        return;
    }
    check_versions(examination.libvirt->facts, examination.inventory, findings);
    for (const ExaminedDomain& domain : examination.domains) {
        if (!domain.error.empty()) {
            findings.warn(libvirt,
                          fmt::format("the XML of domain {} cannot be looked at: {}",
                                      printable(domain.name), domain.error),
                          "its vGPUs are not checked");
        }
    }
}

} // namespace vgpu::cli
