#pragma once

#include "agent/core/result.hpp"

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vgpu {

/// A vGPU type as the driver offers it. The id is the driver release's; the name is what people
/// mean.
struct VgpuType {
    std::uint32_t id = 0;
    std::string name;

    auto operator<=>(const VgpuType&) const = default;
};

/// Parses a VF's `nvidia/creatable_vgpu_types`, which lists what can be created *now* (it is no
/// list of what the card supports). Two text forms exist, told apart row by row:
///   "1145  : NVIDIA L40S-1B", split at the first colon, with or without a header "ID    : vGPU
///   Name"; "NVIDIA L40S-1Q           1147", the id last.
/// An empty text or a header alone is an empty list. Ids are 1 to 2^32-1 in the order of the text;
/// names are kept whole. Error: `invalid`, naming the row, when any row is not of these forms, or
/// its name is only digits, holds control characters or is longer than 256 bytes.
[[nodiscard]] Result<std::vector<VgpuType>> parse_creatable_types(std::string_view text);

/// Framebuffer in MiB out of an mdev type's `description` ("framebuffer=1024M, ..."), 0 if it has
/// none.
[[nodiscard]] std::uint32_t description_framebuffer_mib(std::string_view description);

} // namespace vgpu
