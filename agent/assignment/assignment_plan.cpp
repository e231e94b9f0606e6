#include "agent/assignment/assignment_plan.hpp"

#include "agent/assignment/assignment_candidates.hpp"
#include "agent/core/profile_name.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace vgpu {

namespace {

using xml::DomainView;
using xml::Hostdev;
using xml::VgpuRequest;

/// Claimed framebuffer, and that of domains that are shut off and will claim theirs: otherwise all
/// domains that are assigned before the first one starts would end on one GPU.
GpuLoads expected_loads(const PlanInput& input) {
    GpuLoads loads = loads_of(input.inventory.claims, [&input](const DeviceKey& key) {
        const DeviceInfo* row = row_of(input.inventory, key);
        return row != nullptr ? std::optional(row->gpu) : std::nullopt;
    });
    for (const NamedDevice& named : input.elsewhere) {
        const DeviceInfo* row = row_of(input.inventory, named.device);
        if (row != nullptr && !row->claim && !named.profile.empty()) {
            loads[row->gpu].claimed_mib += framebuffer_mib(named.profile);
        }
    }
    return loads;
}

std::optional<DeviceKey> present_device(const PlanInput& input, const VgpuRequest& request) {
    const Hostdev* hostdev = input.domain.hostdev_of(request);
    return hostdev != nullptr ? key_of(*hostdev) : std::nullopt;
}

FrameworkKind framework_at(const Inventory& inventory, const PciAddress& function) {
    const auto found = std::find_if(
        inventory.devices.begin(), inventory.devices.end(),
        [&function](const DeviceInfo& row) { return row.function == function && row.framework; });
    return found == inventory.devices.end() ? FrameworkKind::vendor_vfio : *found->framework;
}

PlannedDevice planned_on(const PlanInput& input, VgpuRequest request, const Candidates& candidates,
                         const Candidate& chosen) {
    const FrameworkKind framework = framework_at(input.inventory, chosen.function);
    const bool mdev = framework == FrameworkKind::mdev;
    // As the driver spells it: an id may be another type's after a driver upgrade.
    request.profile = candidates.types.at(chosen.gpu).name;
    PlannedDevice planned{
        {std::move(request), mdev ? DeviceKey(Uuid::random()) : DeviceKey(chosen.function), false},
        framework,
        mdev ? std::nullopt : std::optional(chosen.gpu),
        false,
        ""};
    return planned;
}

/// The device that the request has, if it is good and nobody else's.
std::optional<PlannedDevice> keep_present(const PlanInput& input, const VgpuRequest& request,
                                          const Candidates& candidates,
                                          const std::set<DeviceKey>& taken) {
    const auto key = present_device(input, request);
    if (!key || input.domain.is_copy() || named_by(input, *key) != nullptr ||
        taken.contains(*key)) {
        return std::nullopt;
    }
    // The UUID of an mdev is good on any parent, as long as nobody else has made an mdev of it.
    const DeviceInfo* row = row_of(input.inventory, *key);
    if (key->is_mdev() && row != nullptr && !is_own(input, *row)) {
        return std::nullopt;
    }
    const auto fits = [&](const Candidate& candidate) {
        return key->is_mdev()
                   ? framework_at(input.inventory, candidate.function) == FrameworkKind::mdev
                   : candidate.function == key->pci();
    };
    const auto found = std::find_if(candidates.unnamed.begin(), candidates.unnamed.end(), fits);
    if (found == candidates.unnamed.end()) {
        return std::nullopt;
    }
    PlannedDevice planned = planned_on(input, request, candidates, *found);
    planned.assignment.device = *key;
    planned.kept = true;
    return planned;
}

Result<PlannedDevice> choose(const PlanInput& input, const VgpuRequest& request,
                             const Candidates& candidates, const std::set<PciAddress>& used) {
    const PlacementWish wish{request.gpu, input.numa_node, input.packing,
                             input.distinct_gpus ? used : std::set<PciAddress>()};
    const GpuLoads loads = expected_loads(input);
    for (const auto* group : {&candidates.unnamed, &candidates.named}) {
        const auto ranked = rank(*group, loads, wish, input.random);
        if (ranked.empty()) {
            continue;
        }
        PlannedDevice planned = planned_on(input, request, candidates, ranked.front());
        if (const NamedDevice* other = named_by(input, planned.assignment.device)) {
            planned.warning =
                fmt::format("{} is also the device of domain {}, since there is no "
                            "other: only one of the two can run at a time",
                            planned.assignment.device.device(), printable(other->domain));
        }
        return planned;
    }
    return fail(candidates.why_none);
}

void add_gpu(std::set<PciAddress>& used, const PlannedDevice& planned) {
    if (planned.gpu) {
        used.insert(*planned.gpu);
    }
}

/// Devices of the domain that stay what they are.
std::set<DeviceKey> other_devices(const DomainView& domain,
                                  const std::vector<VgpuRequest>& requests) {
    std::set<const Hostdev*> replaced;
    for (const VgpuRequest& request : requests) {
        replaced.insert(domain.hostdev_of(request));
    }
    std::set<DeviceKey> devices;
    for (const Hostdev& hostdev : domain.hostdevs) {
        const auto key = key_of(hostdev);
        if (key && !replaced.contains(&hostdev)) {
            devices.insert(*key);
        }
    }
    return devices;
}

} // namespace

std::optional<DeviceKey> key_of(const Hostdev& hostdev) {
    if (hostdev.type == Hostdev::Type::pci && hostdev.address) {
        return DeviceKey(*hostdev.address);
    }
    if (hostdev.type == Hostdev::Type::mdev && hostdev.uuid) {
        return DeviceKey(*hostdev.uuid);
    }
    return std::nullopt;
}

Result<std::vector<PlannedDevice>> plan_assignments(const PlanInput& input,
                                                    const std::vector<VgpuRequest>& requests) {
    std::set<DeviceKey> taken = other_devices(input.domain, requests);
    std::vector<std::optional<PlannedDevice>> kept;
    std::set<PciAddress> used;
    // First those that keep theirs, so that no other request of the domain is given it.
    for (const VgpuRequest& request : requests) {
        const auto found = find_candidates(input, request, present_device(input, request), taken);
        if (!found) {
            return fail(found.error().in(request.name));
        }
        kept.push_back(keep_present(input, request, *found, taken));
        if (kept.back()) {
            taken.insert(kept.back()->assignment.device);
            add_gpu(used, *kept.back());
        }
    }
    std::vector<PlannedDevice> plan;
    for (std::size_t i = 0; i < requests.size(); ++i) {
        if (kept[i]) {
            plan.push_back(std::move(*kept[i]));
            continue;
        }
        VGPU_TRY_ASSIGN(const Candidates found,
                        find_candidates(input, requests[i], std::nullopt, taken));
        auto chosen = choose(input, requests[i], found, used);
        if (!chosen) {
            return fail(chosen.error().in(requests[i].name));
        }
        taken.insert(chosen->assignment.device);
        add_gpu(used, *chosen);
        plan.push_back(std::move(*chosen));
    }
    return plan;
}

} // namespace vgpu
