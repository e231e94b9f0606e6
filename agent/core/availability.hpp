#pragma once

#include "agent/core/inventory.hpp"

#include <cstdint>
#include <vector>

namespace vgpu {

/// A profile of the host's managed GPUs, and how many more vGPUs of it could be started now.
struct ProfileInfo {
    VgpuType type;
    std::uint32_t framebuffer_mib = 0; ///< 0: unknown
    std::uint32_t available = 0;
};

/// True if nobody is known to have the device and it could be given to a new vGPU: it is managed
/// and clean.
[[nodiscard]] bool is_clean(const DeviceInfo& row);

/// True if the device could be given to a new vGPU after a reset that anybody may do: a managed VF
/// with a type and no claim, or a device whose claim is over; and it is known that nobody has it
/// open.
[[nodiscard]] bool is_repairable(const DeviceInfo& row);

/// How many more vGPUs of `type` could be started on one GPU now; see profiles_of(). 0 for a GPU
/// that is not managed.
[[nodiscard]] std::uint32_t available_on(const Inventory& inventory, const GpuInfo& gpu,
                                         const VgpuType& type);

/// All known profiles, each with its number for the case that only this profile is made from here
/// on. On each GPU that is the smaller of
/// - the devices that could take it: clean ones whose driver offers it now, and repairable ones;
/// - the framebuffer that living vGPUs leave, over the profile's size. The GPU's size is that of
///   its largest known profile; what the driver still offers bounds the room from below.
/// VFs are never counted as vGPUs: a GPU lists each profile once per VF, however few fit (Nova bug
/// 2041519). In equal-size mode the driver's lists shrink to one size; a GPU that carries only
/// repairable devices counts as empty. With mixed sizes, and with MIG-backed profiles, for which
/// the driver tells neither placements nor instances, it is an upper bound.
/// By framebuffer, then by name. Pure.
[[nodiscard]] std::vector<ProfileInfo> profiles_of(const Inventory& inventory);

} // namespace vgpu
