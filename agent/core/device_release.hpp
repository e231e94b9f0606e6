#pragma once

#include "agent/core/host.hpp"

#include <string>
#include <vector>

namespace vgpu {

/// Whether a device is free of VMMs: first, if `domain` is given, that no VMM of it lives, then
/// that nobody has the device open, then the exclusive open of its group node. In this order: a
/// QEMU that has not opened the device yet shows on its command line only. Error: busy, with the
/// witness's words; in doubt as well. The caller holds the device lock and has made its check.
struct FormerUser {
    Uuid domain;
    std::vector<std::string> names;
    std::optional<Vmm> recorded;
};
[[nodiscard]] Result<void> prove_free(Host& host, Framework& framework, const DeviceKey& key,
                                      const std::optional<FormerUser>& user);

/// Ends a claim whose incarnation is over for good: writes `draining`, asks the witnesses, resets
/// the device, proves it, and removes the claim (steps R4 to R7 and C5 to C8 of docs/protocol.md).
/// A device of a foreign domain (managed: false) is not reset. Error: what stands in the way; then
/// the claim stays, as `draining`, and anybody may try again. The caller has read `claim` under
/// `lock` and made its check there. A reservation (`claimed`) is removed without touching the
/// device.
[[nodiscard]] Result<void> finish_claim(Host& host, DeviceLock& lock, Claim claim,
                                        Deadline deadline);

/// True if anybody may finish this claim without asking libvirt: its incarnation is known to be
/// over.
[[nodiscard]] bool is_over(const Host& host, const Claim& claim);

/// Cleans a managed device that carries a type but no claim, if nobody holds it: takes its lock if
/// it is free, checks everything again under it, resets. Also finishes a claim that is over. True
/// if the device is clean and unclaimed afterwards. Never waits for a lock.
[[nodiscard]] Result<bool> repair(Host& host, FrameworkKind kind, const DeviceKey& key,
                                  Deadline deadline);

/// Ends the claim `seen` of a device unless it has changed since: steps C3 to C8 of
/// docs/protocol.md. The caller has made sure, with libvirt and no lock held, that the incarnation
/// is over. True if the claim is gone now; false if it is another incarnation's, or the device is
/// being worked on, and nothing was done. Waits at most 2 s for the device's lock. Error: what
/// stands in the way; the claim stays, as `draining` unless it was a reservation.
[[nodiscard]] Result<bool> release_incarnation(Host& host, const DeviceKey& key, const Claim& seen,
                                               Deadline deadline);

/// What became of one claim.
struct ReleaseOutcome {
    DeviceKey device;
    Result<void> result; ///< ok: reset, proven and unclaimed; an error: kept, and why
};

/// The hook's release: ends every claim of `domain` that is no reservation, whatever its XML names
/// (`named` adds to what the index knows). `check` is made under each device lock. Returns when all
/// is done or the deadline has passed.
[[nodiscard]] Result<std::vector<ReleaseOutcome>>
release_domain(Host& host, const Uuid& domain, const std::vector<DeviceKey>& named,
               const Check& check, Deadline deadline);

} // namespace vgpu
