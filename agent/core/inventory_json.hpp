#pragma once

#include "agent/core/availability.hpp"
#include "agent/core/claim_store.hpp"
#include "agent/core/inventory.hpp"

#include <string>
#include <vector>

namespace vgpu {

/// The lists as programs read them, JSON arrays with a newline at the end: what `virt-vgpu gpus`,
/// `devices`, `profiles` and `claims` print with --json. Fields may be added, not renamed. Text
/// that is no UTF-8 has its wrong bytes replaced.
[[nodiscard]] std::string gpus_json(const Inventory& inventory);
[[nodiscard]] std::string devices_json(const Inventory& inventory);
[[nodiscard]] std::string profiles_json(const std::vector<ProfileInfo>& profiles);
/// A claim that cannot be read has the fields `key`, `file` and `error` only.
[[nodiscard]] std::string claims_json(const std::vector<StoredClaim>& claims,
                                      const ClaimStore& store);

} // namespace vgpu
