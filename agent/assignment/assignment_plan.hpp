#pragma once

#include "agent/core/inventory.hpp"
#include "agent/core/placement.hpp"
#include "agent/hypervisor/hypervisor.hpp"
#include "xml/domain.hpp"

#include <optional>
#include <string>
#include <vector>

namespace vgpu {

/// A device that another domain's XML names.
struct NamedDevice {
    DeviceKey device;
    std::string domain;  ///< its name
    std::string profile; ///< what it asks for there; empty if it asked us for nothing
};

/// Everything that a choice of devices depends on.
struct PlanInput {
    const Inventory& inventory;
    const HypervisorFacts& hypervisor;
    const std::vector<NamedDevice>& elsewhere; ///< named by other domains
    const xml::DomainView& domain;
    RandomBelow random = random_below;
    Packing packing = Packing::spread;
    std::optional<int> numa_node =
        std::nullopt;           ///< where the domain's CPUs and memory are: preferred
    bool distinct_gpus = false; ///< spread the domain's vGPUs over GPUs, as far as there are some
};

/// One request with the device that was chosen for it.
struct PlannedDevice {
    xml::Assignment assignment;
    FrameworkKind framework = FrameworkKind::vendor_vfio;
    std::optional<PciAddress> gpu; ///< none for an mdev: its parent is chosen at start
    bool kept = false;             ///< the device that the request already had
    std::string warning;           ///< empty if all is well
};

/// A device for each of `requests`, which replace the domain's requests of the same names: distinct
/// ones, and none that another host device of the domain is. A request keeps its device if that is
/// good and no other domain names it, unless the domain is a copy. Otherwise the best by
/// placement among managed devices that are free, or would be after their own reset, on which the
/// profile can be created now; those that another domain names come last, with a warning. For mdevs
/// a fresh UUID. The profile is written as the driver spells it. Pure, but for `random`. Error: why
/// there is no device, in numbers.
[[nodiscard]] Result<std::vector<PlannedDevice>>
plan_assignments(const PlanInput& input, const std::vector<xml::VgpuRequest>& requests);

/// The device a hostdev names, nullopt for kinds that are no business of ours.
[[nodiscard]] std::optional<DeviceKey> key_of(const xml::Hostdev& hostdev);

} // namespace vgpu
