#pragma once

#include "agent/core/ids.hpp"
#include "agent/core/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace vgpu {

enum class FrameworkKind { vendor_vfio, mdev };

/// "vendor-vfio" or "mdev".
[[nodiscard]] std::string_view to_string(FrameworkKind kind);

enum class ClaimState {
    claimed,     ///< the daemon's reservation: hardware is never touched under it
    configuring, ///< prepare's: hardware may be written
    configured,  ///< the device is ready for, or used by, the domain's VMM
    draining,    ///< this incarnation is over for good; the device is not yet proven free
};

[[nodiscard]] std::string_view to_string(ClaimState state);

/// A process that cannot be mistaken for a later one with the same pid, within one boot.
struct Vmm {
    std::int64_t pid = 0;
    std::uint64_t start_time = 0; ///< clock ticks since boot, /proc/<pid>/stat field 22
    bool operator==(const Vmm&) const = default;
};

/// Who owns a device: the content of one claim file. The device itself is the file's name.
struct Claim {
    FrameworkKind framework = FrameworkKind::vendor_vfio;
    std::string device_path;              ///< with the configured sysfs root
    std::optional<Uuid> mdev_uuid;        ///< mdev only
    std::optional<PciAddress> gpu;        ///< the PF
    std::optional<PciAddress> parent;     ///< mdev only: the function it is created on
    std::string profile;                  ///< full name once known, before that as requested
    std::optional<std::uint32_t> type_id; ///< once configured
    Uuid domain_uuid;
    std::string domain_name;
    std::string device; ///< the request's name, "vgpu0"; empty for a foreign device
    ClaimState state = ClaimState::claimed;
    bool managed = true; ///< false: used by a domain that asked us for nothing
    Uuid incarnation;
    std::string boot_id;
    std::string claimed_at; ///< RFC 3339, UTC, whole seconds
    std::optional<Vmm> vmm; ///< recorded when the VMM was seen alive

    bool operator==(const Claim&) const = default;

    /// `vm1 (f0f0…)`, as errors name the holder.
    [[nodiscard]] std::string owner() const;
};

/// JSON text of version 2, one object, newline at the end.
[[nodiscard]] std::string to_json(const Claim& claim);

/// Reads version 2, and version 1, which knows only `mdev_uuid` (its framework is mdev and its path
/// is derived below `sysfs_root`; it carries no boot id, so it counts as of another boot). Error:
/// corrupt, saying what is wrong; the caller treats the device as claimed by somebody unknown.
[[nodiscard]] Result<Claim> parse_claim(std::string_view json, std::string_view sysfs_root);

/// Now, as claims write it.
[[nodiscard]] std::string utc_now();

} // namespace vgpu
