#pragma once

#include "agent/assignment/assignment_plan.hpp"
#include "agent/core/inventory.hpp"
#include "agent/hypervisor/hypervisor.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace vgpu {

struct AssignWish {
    std::string domain;                 ///< name or UUID
    std::optional<std::string> profile; ///< none: point the requests that are there at devices
    std::optional<PciAddress> gpu;      ///< only from this GPU
    bool any_gpu = false;               ///< drop the request's wish for a GPU
    std::optional<std::string> params;  ///< an empty text drops them
    std::optional<std::string> name;    ///< of the request; none: vgpu0, or all without a profile
};

/// What assign or unassign has done to a domain.
struct DomainChange {
    Uuid uuid;
    std::string name;
    bool running = false;
    bool changed = false;               ///< its definition is another one now
    std::vector<PlannedDevice> devices; ///< assign: the requests with their devices
    std::vector<std::string> removed;   ///< unassign: the names of the requests
    std::vector<std::string> warnings;
};

/// Looks at the devices of the host; called when the domain is known to be there.
using LookAtHost = std::function<Result<Inventory>()>;

/// Writes a request and its device into the persistent definition of a domain, or points the
/// requests it has at free devices (a clone: at its own), and reads back that both have survived.
/// What the request already says and the wish does not name stays. Errors: the domain is
/// unknown or transient; no device, and why; libvirt refuses the definition; the definition was
/// changed by somebody else meanwhile.
[[nodiscard]] Result<DomainChange> assign(Hypervisor& hypervisor, const LookAtHost& look,
                                          const AssignWish& wish,
                                          const RandomBelow& random = random_below);

/// Removes a request and its device from the persistent definition, or all of them when `name` is
/// empty. Error: not_found when there is none.
[[nodiscard]] Result<DomainChange> unassign(Hypervisor& hypervisor, const std::string& domain,
                                            const std::string& name);

} // namespace vgpu
