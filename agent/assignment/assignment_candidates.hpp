#pragma once

#include "agent/assignment/assignment_plan.hpp"

#include <map>
#include <set>

/// The first half of a plan: which devices could serve a request. Used by assignment_plan.cpp only.
namespace vgpu {

struct Candidates {
    std::map<PciAddress, VgpuType> types; ///< what the profile is on each GPU that supports it
    std::vector<Candidate> unnamed;       ///< named by no other domain
    std::vector<Candidate> named;         ///< the rest
    Error why_none{ErrorCode::unavailable, ""}; ///< if both are empty
};

/// The devices that could serve `request` and are not in `taken`. `present` is the one that it
/// points at now: that may also be claimed by the domain itself. Error: the profile is unknown or
/// ambiguous, or the GPU it asks for cannot be used.
[[nodiscard]] Result<Candidates> find_candidates(const PlanInput& input,
                                                 const xml::VgpuRequest& request,
                                                 const std::optional<DeviceKey>& present,
                                                 const std::set<DeviceKey>& taken);

/// The row of a device, or null.
[[nodiscard]] const DeviceInfo* row_of(const Inventory& inventory, const DeviceKey& key);
/// The domain other than ours that names the device, or null.
[[nodiscard]] const NamedDevice* named_by(const PlanInput& input, const DeviceKey& key);
/// True if the domain's own last or present run has the device.
[[nodiscard]] bool is_own(const PlanInput& input, const DeviceInfo& row);

} // namespace vgpu
