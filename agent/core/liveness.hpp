#pragma once

#include "agent/core/claim.hpp"
#include "agent/core/config.hpp"
#include "agent/core/proc.hpp"

#include <string>
#include <vector>

namespace vgpu {

/// What the evidence says of a VMM or of a device's users. `unknown` is treated as `alive` by
/// everybody who would otherwise reset, unclaim or hand out: missing evidence is no evidence of
/// absence.
enum class Liveness { dead, alive, unknown };

struct Verdict {
    Liveness liveness = Liveness::dead;
    std::string
        why; ///< for people, unless dead: "pid 4242 (qemu-system-x86) has /dev/vfio/15 open"

    [[nodiscard]] bool dead() const { return liveness == Liveness::dead; }
};

/// How the exclusive open of a group node went.
enum class Probe { free, no_node, in_use };

/// The witnesses of whether a VMM lives or a device is used. Never asks libvirt. All but pid_lock()
/// read /proc.
class Witnesses {
public:
    Witnesses(const Config::Paths& paths, const Proc& proc) : paths_(paths), proc_(proc) {}

    /// Whether a VMM of this domain may be alive in this boot: the lock that libvirt's QEMU holds
    /// on its pid file (under each of `names`), the recorded process, and any process with `-uuid
    /// <domain>` on its command line. The last one is what sees a QEMU that has not opened its
    /// device yet, after libvirt has removed the pid file: so it is asked before device_held().
    [[nodiscard]] Verdict vmm(const Uuid& domain, const std::vector<std::string>& names,
                              const std::optional<Vmm>& recorded) const;

    /// Whether any process has the device open, by a scan of /proc/<pid>/fd. Disturbs nobody.
    [[nodiscard]] Verdict device_held(const DeviceNodes& nodes) const;

    /// Opens the group node and closes it again. The kernel lets one process at a time have it
    /// (EBUSY), which makes it an O(1) test, and makes a QEMU that opens at that very moment fail:
    /// only under the device lock, after the orphan or incarnation check, immediately before a
    /// reset or a claim. Error: the node cannot be opened for another reason.
    [[nodiscard]] static Result<Probe> exclusive_open(const DeviceNodes& nodes);

    /// The VMM that holds libvirt's pid file of the domain right now, with its start time; nullopt
    /// if none does.
    [[nodiscard]] Result<std::optional<Vmm>> running_vmm(const std::string& name) const;

private:
    [[nodiscard]] Result<std::optional<std::int64_t>> pid_lock(const std::string& name) const;

    const Config::Paths& paths_;
    const Proc& proc_;
};

} // namespace vgpu
