#pragma once

#include "agent/core/catalogue.hpp"
#include "agent/core/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vgpu {

/// The parts of an NVIDIA vGPU type's name, e.g. "NVIDIA RTX Pro 6000 Blackwell DC-1-24QGFX":
///   [NVIDIA |GRID ]BOARD-[SLICES-]GIGABYTES SERIES [SUFFIX]
/// BOARD may hold spaces and dashes ("RTX6000-Ada"); SLICES is there on MIG-backed types only;
/// SERIES is one of A B C Q; SUFFIX is a digit ("2B4") or letters ("5CME", "24QGFX").
struct ProfileName {
    std::string board;
    std::uint32_t slices = 0; ///< 0: time-sliced
    std::uint32_t gigabytes = 0;
    char series = 'Q';
    std::string suffix;

    /// Framebuffer in MiB; "0Q" and "0B" mean 512.
    [[nodiscard]] std::uint32_t framebuffer_mib() const {
        return gigabytes == 0 ? 512 : gigabytes * 1024;
    }

    bool operator==(const ProfileName&) const = default;

    /// nullopt when the name does not follow the grammar (a foreign vendor's, a future form).
    [[nodiscard]] static std::optional<ProfileName> parse(std::string_view name);
};

/// The form in which two spellings of one profile are equal: lower case, no "NVIDIA " or "GRID "
/// prefix, single spaces.
[[nodiscard]] std::string normal_profile(std::string_view name);

/// Framebuffer of a profile in MiB by its name, 0 when the name says nothing.
[[nodiscard]] std::uint32_t framebuffer_mib(std::string_view profile);

/// A request for a type id instead of a name: "1150" or "nvidia-1150" (as mdev and Proxmox spell
/// it).
[[nodiscard]] std::optional<std::uint32_t> requested_type_id(std::string_view profile);

/// True if `type` is what `profile` asks for, by name (without case and prefix) or by id.
[[nodiscard]] bool matches(std::string_view profile, const VgpuType& type);

/// The one type in `types` that `profile` asks for. Entries of one id whose names differ in case or
/// prefix only count once. An id is the driver release's and the card's own: `types` are those of
/// one card where an id matters. Errors: not_found (says how many types were looked at and lists
/// the nearest), conflict (several match; lists them). Both list at most 8.
[[nodiscard]] Result<VgpuType> find_type(std::string_view profile,
                                         const std::vector<VgpuType>& types);

} // namespace vgpu
