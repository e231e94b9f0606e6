#pragma once

#include "agent/core/inventory.hpp"

#include <map>

/// The part of the inventory that looks at single functions; used by inventory.cpp only.
namespace vgpu {

/// What is known of the host when its functions are looked at.
struct Surroundings {
    const Host& host;
    std::map<DeviceKey, StoredClaim> claims;
    std::map<PciAddress, std::vector<Uuid>> mdevs; ///< by parent
};

/// Claims and mdevs; what cannot be read goes to `problems`.
[[nodiscard]] Surroundings look_around(const Host& host, Inventory& inventory);

/// The rows of one function of `gpu`: one for a VF or a free parent; for a parent with mdevs one
/// for each, and, on a card without SR-IOV that can make more, one for the next. Of a PF that makes
/// no mdevs none.
[[nodiscard]] std::vector<DeviceInfo> rows_of(const Surroundings& around,
                                              const PciAddress& function, const PciAddress& gpu);

} // namespace vgpu
