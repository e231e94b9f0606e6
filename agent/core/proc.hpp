#pragma once

#include "agent/core/claim.hpp"
#include "agent/core/ids.hpp"
#include "agent/core/result.hpp"

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vgpu {

/// A process, as messages name it.
struct Process {
    std::int64_t pid = 0;
    std::string name;

    [[nodiscard]] std::string to_string() const;
};

/// Device nodes through which one device can be held open: the group node, the device's own node
/// ("cdev"), or both.
struct DeviceNodes {
    std::vector<std::string> paths; ///< below the configured /dev
    std::string group;              ///< the group node among them; empty if there is none
};

/// What /proc knows, under a movable root. A scan fails rather than report an absence that it has
/// not seen: a process that vanishes is skipped, anything else that cannot be read is an error. Who
/// has files open is looked up in proc_scan.hpp.
class Proc {
public:
    explicit Proc(std::string root) : root_(std::move(root)) {}

    /// The kernel's id of this boot.
    [[nodiscard]] Result<std::string> boot_id() const;
    /// Start time of a process in clock ticks since boot; nullopt if it is gone or a zombie whose
    /// threads all ended.
    [[nodiscard]] Result<std::optional<std::uint64_t>> start_time(std::int64_t pid) const;
    /// A process whose command line carries `-uuid <domain>`: a VMM of that domain, as libvirt
    /// starts it.
    [[nodiscard]] Result<std::optional<Process>> vmm_by_command_line(const Uuid& domain) const;
    /// The short name (comm) of a process, "?" if it cannot be read.
    [[nodiscard]] std::string name(std::int64_t pid) const;

    [[nodiscard]] const std::string& root() const { return root_; }

    /// All processes; an error if none is listed, since there is always an init.
    [[nodiscard]] Result<std::vector<std::int64_t>> pids() const;

private:
    std::string root_;
};

} // namespace vgpu
