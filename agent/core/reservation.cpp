#include "agent/core/reservation.hpp"

#include "agent/core/device_release.hpp"
#include "agent/core/topology.hpp"

#include <fmt/format.h>

namespace vgpu {

namespace {

Result<Claim> reservation_of(Host& host, const PrepareRequest& request, const WantedDevice& wanted,
                             const Uuid& incarnation) {
    Claim claim;
    claim.framework = FrameworkKind::mdev;
    if (!wanted.device.is_mdev()) {
        VGPU_TRY_ASSIGN(const auto kind, framework_of(host.sysfs, wanted.device.pci()));
        if (!kind) {
            return fail(ErrorCode::unavailable,
                        fmt::format("{} offers no vGPU", wanted.device.device()));
        }
        claim.framework = *kind;
        VGPU_TRY_ASSIGN(claim.gpu, gpu_of(host.sysfs, wanted.device.pci()));
    } else {
        claim.mdev_uuid = wanted.device.mdev();
        claim.gpu = wanted.gpu;
    }
    claim.device_path = host.sysfs.absolute(host.framework(claim.framework)->path(wanted.device));
    claim.profile = wanted.profile;
    claim.domain_uuid = request.domain;
    claim.domain_name = request.name;
    claim.device = wanted.name;
    claim.state = ClaimState::claimed;
    claim.incarnation = incarnation;
    claim.boot_id = host.boot_id;
    claim.claimed_at = utc_now();
    return claim;
}

/// True if the device has been reserved; false if the domain has a claim of its own on it.
Result<bool> reserve_one(Host& host, const PrepareRequest& request, const WantedDevice& wanted,
                         const DeviceLock& lock, const Uuid& incarnation) {
    VGPU_TRY_ASSIGN(const auto claim, host.claims.read(wanted.device));
    if (claim && claim->domain_uuid == request.domain) {
        return false;
    }
    if (claim && is_over(host, *claim)) {
        return false; // prepare finishes it, or refuses with the reason (P3)
    }
    if (claim) {
        return fail(Error(ErrorCode::busy, fmt::format("{} is claimed by domain {} ({} since {})",
                                                       wanted.device.device(), claim->owner(),
                                                       to_string(claim->state), claim->claimed_at))
                        .on(wanted.device.device())
                        .held_by(claim->domain_uuid.to_string()));
    }
    VGPU_TRY_ASSIGN(const Claim fresh, reservation_of(host, request, wanted, incarnation));
    VGPU_TRY(host.claims.link(lock, fresh));
    return true;
}

bool drop_one(Host& host, const DeviceLock& lock, const Uuid& incarnation) {
    const auto claim = host.claims.read(lock.key());
    if (!claim || !*claim || (*claim)->incarnation != incarnation ||
        (*claim)->state != ClaimState::claimed) {
        return false;
    }
    const auto removed = host.claims.remove(lock, (*claim)->domain_uuid);
    if (!removed) {
        host.note(NoteLevel::warning, removed.error().text(), lock.key());
    }
    return true;
}

} // namespace

Result<std::vector<Reservation>> reserve(Host& host, const PrepareRequest& request,
                                         Deadline deadline) {
    std::vector<DeviceKey> keys;
    for (const WantedDevice& wanted : request.wanted) {
        keys.push_back(wanted.device);
    }
    VGPU_TRY_ASSIGN(LockSet locks, host.locks.all(keys, deadline));
    const Uuid incarnation = Uuid::random();
    std::vector<Reservation> reserved;
    for (const WantedDevice& wanted : request.wanted) {
        const auto done = reserve_one(host, request, wanted, locks.of(wanted.device), incarnation);
        if (!done) {
            for (const Reservation& earlier : reserved) {
                static_cast<void>(drop_one(host, locks.of(earlier.device), incarnation));
            }
            return fail(done.error().in(wanted.name));
        }
        if (*done) {
            reserved.push_back({wanted.device, incarnation});
        }
    }
    return reserved;
}

int drop_reservations(Host& host, const std::vector<Reservation>& reservations, Deadline deadline) {
    int dropped = 0;
    for (const Reservation& reservation : reservations) {
        const auto lock = host.locks.device(reservation.device, deadline);
        if (!lock) {
            host.note(NoteLevel::warning, lock.error().text(), reservation.device);
            continue;
        }
        dropped += drop_one(host, *lock, reservation.incarnation) ? 1 : 0;
    }
    return dropped;
}

} // namespace vgpu
