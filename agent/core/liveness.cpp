#include "agent/core/liveness.hpp"

#include "agent/core/proc_scan.hpp"
#include "agent/core/unique_fd.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace vgpu {

namespace {

Verdict alive(std::string why) {
    return {Liveness::alive, std::move(why)};
}

Verdict unknown(const Error& error) {
    return {Liveness::unknown, error.text()};
}

} // namespace

Result<std::optional<std::int64_t>> Witnesses::pid_lock(const std::string& name) const {
    constexpr std::size_t longest = NAME_MAX - (sizeof ".pid" - 1);
    if (name.empty() || name.find('/') != std::string::npos || name.size() > longest) {
        return std::optional<std::int64_t>(); // no name libvirt could make a file of
    }
    const std::string path = fmt::format("{}/{}.pid", paths_.libvirt_run, name);
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!fd) {
        if (errno == ENOENT || errno == ENOTDIR) {
            return std::optional<std::int64_t>();
        }
        return fail(Error::system(errno, "open", path));
    }
    // libvirt write-locks byte 0 before it executes QEMU, which inherits the lock's owner
    // (virpidfile.c). The lock ends with that very process, whatever becomes of its number.
    struct flock lock{};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    lock.l_start = 0;
    lock.l_len = 1;
    if (::fcntl(fd.get(), F_GETLK, &lock) != 0) {
        return fail(Error::system(errno, "query lock of", path));
    }
    if (lock.l_type == F_UNLCK) {
        return std::optional<std::int64_t>();
    }
    return std::optional<std::int64_t>(lock.l_pid);
}

Verdict Witnesses::vmm(const Uuid& domain, const std::vector<std::string>& names,
                       const std::optional<Vmm>& recorded) const {
    for (const std::string& name : names) {
        const auto locked = pid_lock(name);
        if (!locked) {
            return unknown(locked.error());
        }
        if (*locked) {
            return alive(fmt::format("{} holds the pid file of domain {}",
                                     Process{**locked, proc_.name(**locked)}.to_string(),
                                     printable(name)));
        }
    }
    if (recorded) {
        const auto started = proc_.start_time(recorded->pid);
        if (!started) {
            return unknown(started.error());
        }
        if (*started && **started == recorded->start_time) {
            return alive(
                fmt::format("its recorded VMM, {}, is alive",
                            Process{recorded->pid, proc_.name(recorded->pid)}.to_string()));
        }
    }
    const auto by_command_line = proc_.vmm_by_command_line(domain);
    if (!by_command_line) {
        return unknown(by_command_line.error());
    }
    if (*by_command_line) {
        return alive(fmt::format("{} runs with -uuid {}", (*by_command_line)->to_string(),
                                 domain.to_string()));
    }
    return {};
}

Verdict Witnesses::device_held(const DeviceNodes& nodes) const {
    if (nodes.paths.empty()) {
        return {};
    }
    const HolderScan scan = scan_holders(proc_, nodes.paths, Holders::any);
    if (!scan.holders.empty()) {
        const auto& [node, holder] = *scan.holders.begin();
        return alive(fmt::format("{} has {} open", holder.to_string(), node));
    }
    return scan.incomplete ? unknown(*scan.incomplete) : Verdict();
}

Result<Probe> Witnesses::exclusive_open(const DeviceNodes& nodes) {
    if (nodes.group.empty()) {
        return Probe::no_node;
    }
    const UniqueFd fd(::open(nodes.group.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
    if (fd) {
        return Probe::free;
    }
    if (errno == EBUSY) {
        return Probe::in_use;
    }
    if (errno != ENOENT) {
        return fail(Error::system(errno, "open", nodes.group));
    }
    // No node where sysfs has a group: no VFIO driver is bound. Without the directory, nobody's
    // open files could be told either; kmod makes it at boot, for /dev/vfio/vfio.
    const std::string directory = nodes.group.substr(0, nodes.group.rfind('/'));
    if (::access(directory.c_str(), F_OK) != 0) {
        return fail(Error::system(errno, "look for", directory)
                        .hint("who uses the device cannot be told: is [paths] dev right?"));
    }
    return Probe::no_node;
}

Result<std::optional<Vmm>> Witnesses::running_vmm(const std::string& name) const {
    VGPU_TRY_ASSIGN(const auto pid, pid_lock(name));
    if (!pid || *pid <= 0) {
        return std::optional<Vmm>();
    }
    VGPU_TRY_ASSIGN(const auto start, proc_.start_time(*pid));
    if (!start) {
        return std::optional<Vmm>();
    }
    return std::optional(Vmm{*pid, *start});
}

} // namespace vgpu
