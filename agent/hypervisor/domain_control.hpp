#pragma once

#include "agent/core/deadline.hpp"
#include "agent/hypervisor/hypervisor.hpp"

#include <string>

namespace vgpu {

/// How a VMM is made to end. libvirt sends SIGTERM either way; only `forced` goes on to SIGKILL,
/// after 10 s, which wedges the VF of a VMM whose vGPU is still initialising until an SR-IOV cycle
/// (facts of hypeman's GPU.md; libvirt's qemuProcessKill).
enum class Termination { graceful, forced };

/// What lifecycle operations need of libvirt beyond reading. All calls name a domain by UUID or
/// name; `not_found` if there is none. A call that the domain's state does not allow (start of a
/// running one) is `conflict`.
class DomainControl : public Hypervisor {
public:
    /// The calls from here on end by `deadline`.
    virtual void set_deadline(Deadline deadline) = 0;
    /// False once a call has not come back, or the connection is gone: every later call fails.
    [[nodiscard]] virtual bool usable() = 0;

    /// Whether a VMM of the domain runs or is being started or ended, as libvirt sees it. An answer
    /// that does not come in time is a `timeout` error, which is no "no": libvirt holds the
    /// domain's mutex while a hook runs. not_found is a definite no.
    [[nodiscard]] virtual Result<bool> active(const std::string& domain) = 0;
    /// Starts a defined domain. Returns when libvirt has started it, its hooks included.
    [[nodiscard]] virtual Result<void> start(const std::string& domain) = 0;
    /// Asks the guest to shut down, and returns at once.
    [[nodiscard]] virtual Result<void> shutdown(const std::string& domain) = 0;
    /// Asks the guest to reboot, and returns at once.
    [[nodiscard]] virtual Result<void> reboot(const std::string& domain) = 0;
    /// Ends the VMM, and returns when libvirt has seen its end. Error: busy if it would not end.
    [[nodiscard]] virtual Result<void> destroy(const std::string& domain, Termination how) = 0;
    /// Removes the definition, with NVRAM, saved state, checkpoints and snapshot metadata.
    [[nodiscard]] virtual Result<void> undefine(const std::string& domain) = 0;
};

} // namespace vgpu
