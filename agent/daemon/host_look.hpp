#pragma once

#include "agent/core/availability.hpp"
#include "agent/core/inventory.hpp"
#include "agent/daemon/site.hpp"

#include <cstdint>
#include <vector>

namespace vgpu {

/// Everything there is on the host now. Blocks for some seconds at most, whatever a driver does:
/// what does not answer is in the inventory's problems. Error: the host cannot be looked at at all.
[[nodiscard]] Result<Inventory> look_at_host(const Site& site, Notes note);

/// What the vGPUs that a GPU carries, or has promised, take of its framebuffer. `profiles`: all of
/// the host, of which the sizes are taken.
[[nodiscard]] std::uint64_t claimed_framebuffer_mib(const Inventory& inventory, const GpuInfo& gpu,
                                                    const std::vector<ProfileInfo>& profiles);

} // namespace vgpu
