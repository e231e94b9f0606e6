#pragma once

#include "agent/core/availability.hpp"
#include "agent/core/inventory.hpp"

#include <string>
#include <vector>

namespace vgpu::cli {

/// The lists as people read them. Lines below a table say what a row has no room for.
[[nodiscard]] std::string gpus_text(const Inventory& inventory, bool colour);
[[nodiscard]] std::string devices_text(const Inventory& inventory, bool colour);
[[nodiscard]] std::string profiles_text(const std::vector<ProfileInfo>& profiles, bool colour);
/// Asks /proc whether the recorded VMMs live.
[[nodiscard]] std::string claims_text(const std::vector<StoredClaim>& claims, const Host& host,
                                      bool colour);

/// One word for the state of a device: free, claimed, configuring, configured, draining, dirty,
/// foreign, unmanaged, in-use, unreadable or unusable.
[[nodiscard]] std::string_view state_word(const DeviceInfo& device);

/// "49152 MiB" as "48 GiB" where that is exact; "?" for 0.
[[nodiscard]] std::string size_text(std::uint32_t mib);

} // namespace vgpu::cli
