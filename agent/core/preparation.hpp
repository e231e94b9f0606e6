#pragma once

#include "agent/core/placement.hpp"
#include "agent/core/prepare.hpp"

#include <memory>
#include <set>

namespace vgpu {

/// One device on its way through prepare_domain().
struct Slot {
    Slot(const WantedDevice* request, DeviceKey device) : wanted(request), key(device) {}

    const WantedDevice* wanted; ///< null: a foreign device
    DeviceKey key;
    std::unique_ptr<Framework> framework;
    std::optional<PciAddress> function; ///< the VF; for an mdev its parent, once chosen
    std::optional<PciAddress> gpu;
    std::optional<Claim> own;    ///< our stale claim that is taken over
    std::uint32_t leftover = 0;  ///< the type it carries, 0 if it is clean
    Claim claim;                 ///< the new claim
    bool claimed = false;        ///< the claim file carries our incarnation
    bool parent_refused = false; ///< the driver made nothing on `function`: another one may do

    /// "vgpu0 (NVIDIA L40S-4Q on 0000:41:00.4)", for messages.
    [[nodiscard]] std::string what() const;
    /// A failure of this one.
    [[nodiscard]] Error failed(const Error& why) const { return why.in(what()).on(key.device()); }
};

/// Looks at one device under its lock and decides whether the domain may have it (step P3).
/// Finishes another's claim that is over. An error is a refusal; nothing else has changed then.
/// Fills in everything of the slot but `claim`.
[[nodiscard]] Result<void> admit(Host& host, const PrepareRequest& request, DeviceLock& lock,
                                 Slot& slot, Deadline deadline);

/// Chooses the parent of an mdev that is to be created, best first by placement, leaving out
/// `refused`. The caller holds the allocation lock. Error: why there is none. Repairs what stands
/// in the way and looks once more.
[[nodiscard]] Result<void> choose_parent(Host& host, Slot& slot,
                                         const std::set<PciAddress>& refused, Deadline deadline);

/// Cleans the device if it carries a type, and gives it the wanted one (step P5). Error: why not;
/// the device may carry a type then. When the profile cannot be created, dirty devices of the same
/// GPU are repaired and the catalogue is read once more, before it says why.
[[nodiscard]] Result<VgpuType> configure(Host& host, const DeviceLock& lock, Slot& slot,
                                         Deadline deadline);

/// Repairs devices of `gpu` that carry a type and no living claim, to make room for `profile`, if
/// the GPU is known, or may be assumed, to support it. Returns how many were made free. Never waits
/// for a lock.
[[nodiscard]] Result<int> make_room(Host& host, FrameworkKind kind, const PciAddress& gpu,
                                    const std::string& profile, Deadline deadline);

/// Why `profile` cannot be created on `function`, for people: unknown name, full, other size,
/// nothing offered at all.
[[nodiscard]] Error why_not(Host& host, Framework& framework, const PciAddress& function,
                            const PciAddress& gpu, const std::string& profile,
                            const std::vector<VgpuType>& creatable);

} // namespace vgpu
