#pragma once

#include "agent/core/host_session.hpp"
#include "agent/hypervisor/domain_control.hpp"
#include "agent/reconcile/report.hpp"

#include <functional>
#include <memory>
#include <set>
#include <string>

namespace vgpu {

/// Takes the instance lock of a domain without waiting; null if an operation on the domain is under
/// way. It is given back when the pointer ends. Step C0 of docs/protocol.md.
using InstanceGuard = std::function<std::shared_ptr<void>(const Uuid& domain)>;

/// What a pass works with.
struct ReconcileInput {
    HostSession& look;   ///< opened with Purpose::look
    HostSession& change; ///< opened with Purpose::change
    /// Null when libvirt cannot be reached, for the reason in `unreachable`: then only what needs
    /// no word of libvirt is done.
    DomainControl* hypervisor = nullptr;
    std::string unreachable;
    InstanceGuard guard;
    bool dry_run = false;
    bool rebind = true;
    Deadline deadline;
};

/// One pass over the host, after which every crash that left a trace is healed as far as it can be:
/// - release: finishes `draining` claims and ends claims whose domain libvirt knows to be inactive
///   and whose VMM every witness says is dead (C0 to C8);
/// - adopt: gives running domains the claims that they lack, and records their VMM;
/// - repair: resets managed devices that carry a type, have no claim and are open nowhere, and
///   removes mdevs that a request of a known domain names and nobody has claimed;
/// - rebind: points shut-off domains whose device cannot be had now at one that can.
/// Each step on its own: what fails is in the report, stops nothing else, and is tried again by the
/// next pass. Never calls libvirt under a lock of a device or of the allocation (I9). A failed scan
/// or an unreachable libvirt frees nothing (I10). Foreign devices and domains are never written
/// (I6). Blocks until done or about the deadline. Error: the host's devices or claims cannot be
/// listed.
[[nodiscard]] Result<ReconcileReport> reconcile(ReconcileInput input);

} // namespace vgpu
