#pragma once

#include "agent/core/host.hpp"

#include <optional>
#include <string>

namespace vgpu::cli {

/// What a release has done.
enum class ReleaseEffect {
    nothing,   ///< the device was free and clean
    reset,     ///< reset, proven, and its claim, if it had one, removed
    forgotten, ///< the claim was removed; the device was not touched
};

[[nodiscard]] std::string_view to_string(ReleaseEffect effect);

struct ReleaseReport {
    ReleaseEffect effect = ReleaseEffect::nothing;
    std::optional<Claim> claim; ///< that the device had
};

/// Frees one device by hand. It cannot know libvirt's mind, so without `force` only what is known
/// to be over is ended: a claim that is draining or of another boot, one whose recorded VMM is
/// dead, or a type that nobody has claimed. `force` ends a claim without such proof, and one that
/// cannot be read. Never, forced or not, a device that a VMM has open or may have, nor one that is
/// not given to virt-vgpu. Waits at most 5 s for the device's lock. Error: what stands in the way,
/// who holds the device, and the way out; then nothing has changed, except that a claim that was
/// over and whose device refused its reset stays as `draining`.
[[nodiscard]] Result<ReleaseReport> release_device(Host& host, const DeviceKey& key, bool force,
                                                   Deadline deadline);

} // namespace vgpu::cli
