#include "agent/core/device_release.hpp"

#include "agent/core/mdev.hpp"
#include "agent/core/topology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace vgpu {

namespace {

using std::chrono::milliseconds;

bool is_no_space(int error_number) {
    return error_number == ENOSPC || error_number == EDQUOT || error_number == EFBIG;
}

/// The claim no longer says what it did: its incarnation is over. No second write when it says so
/// already. A full disk does not keep a device from being freed, which needs no space: all that is
/// lost is the word to others that they may finish it, should the reset fail.
Result<void> mark_draining(Host& host, const DeviceLock& lock, Claim& claim) {
    if (claim.state == ClaimState::draining) {
        return {};
    }
    const ClaimState before = std::exchange(claim.state, ClaimState::draining);
    auto written = host.claims.replace(lock, claim);
    if (!written && is_no_space(written.error().error_number())) {
        claim.state = before;
        host.note(NoteLevel::warning, written.error().text(), lock.key());
        return {};
    }
    return written;
}

/// I6: a device that the configuration takes away from us is not written to any more, whatever we
/// did to it before.
Result<void> must_be_ours(Host& host, const DeviceKey& key) {
    std::optional<PciAddress> function;
    if (key.is_mdev()) {
        VGPU_TRY_ASSIGN(function, Mdev(host.sysfs, host.config).parent(key.mdev()));
    } else {
        VGPU_TRY_ASSIGN(const bool present, host.sysfs.exists(pci_path(key.pci())));
        function = present ? std::optional(key.pci()) : std::nullopt;
    }
    if (!function) {
        return {}; // gone: there is nothing to write to
    }
    VGPU_TRY_ASSIGN(const PciAddress gpu, gpu_of(host.sysfs, *function));
    if (host.config.manages(gpu, *function)) {
        return {};
    }
    return fail(
        ErrorCode::denied,
        fmt::format("{} is no longer given to virt-vgpu by its configuration ([gpus] managed, "
                    "ignored): give "
                    "it back until it is wiped, or wipe it by hand and remove the claim's file",
                    function->to_string()));
}

Result<void> reset_claimed(DeviceLock& lock, Framework& framework, Deadline deadline,
                           milliseconds idle_for) {
    auto reset = framework.reset(lock, deadline, idle_for);
    if (!reset && reset.error().code() == ErrorCode::timeout) {
        lock.leave_to_children(); // a write may still be under way in the driver
    }
    return reset;
}

Error kept(const DeviceKey& key, const Claim& claim, const Error& why) {
    return why
        .in(fmt::format("{} stays claimed by domain {} as {}", key.device(), claim.owner(),
                        to_string(claim.state)))
        .on(key.device())
        .held_by(claim.domain_uuid.to_string());
}

Result<bool> repair_locked(Host& host, Framework& framework, DeviceLock& lock, Deadline deadline) {
    const DeviceKey& key = lock.key();
    VGPU_TRY_ASSIGN(const auto claim, host.claims.read(key));
    if (claim) {
        if (!is_over(host, *claim)) {
            return false;
        }
        VGPU_TRY(finish_claim(host, lock, *claim, deadline));
        return true;
    }
    VGPU_TRY_ASSIGN(const std::uint32_t type, framework.type(key));
    if (type == 0) {
        return true;
    }
    VGPU_TRY(must_be_ours(host, key));
    VGPU_TRY(prove_free(host, framework, key, std::nullopt));
    VGPU_TRY(reset_claimed(lock, framework, deadline, milliseconds(0)));
    host.note(NoteLevel::info,
              fmt::format("{} carried type {} and no claim: reset", key.device(), type), key);
    return true;
}

} // namespace

Result<void> prove_free(Host& host, Framework& framework, const DeviceKey& key,
                        const std::optional<FormerUser>& user) {
    if (user) {
        const Verdict vmm = host.witnesses.vmm(user->domain, user->names, user->recorded);
        if (!vmm.dead()) {
            return fail(
                Error(ErrorCode::busy, vmm.why).on(key.device()).held_by(user->domain.to_string()));
        }
    }
    VGPU_TRY_ASSIGN(const DeviceNodes nodes, framework.nodes(key));
    const Verdict held = host.witnesses.device_held(nodes);
    if (!held.dead()) {
        return fail(Error(ErrorCode::busy, held.why).on(key.device()));
    }
    VGPU_TRY_ASSIGN(const Probe probe, Witnesses::exclusive_open(nodes));
    if (probe == Probe::in_use) {
        return fail(Error(ErrorCode::busy,
                          fmt::format("{} is in use ({} is held open)", key.device(), nodes.group))
                        .on(key.device()));
    }
    return {};
}

bool is_over(const Host& host, const Claim& claim) {
    // A claim of version 1 says nothing of its boot; who wrote it is no longer installed.
    return claim.state == ClaimState::draining || claim.boot_id.empty() ||
           host.of_another_boot(claim);
}

Result<void> finish_claim(Host& host, DeviceLock& lock, Claim claim, Deadline deadline) {
    const DeviceKey key = lock.key();
    if (claim.state == ClaimState::claimed) {
        return host.claims.remove(lock, claim.domain_uuid);
    }
    // Known before the claim is written again: since when no VMM of it has been running.
    milliseconds idle_for(0);
    if (claim.state == ClaimState::draining) {
        VGPU_TRY_ASSIGN(idle_for, host.claims.age(key));
    }
    host.sysfs.get_ready();
    VGPU_TRY(mark_draining(host, lock, claim));
    std::optional<FormerUser> user;
    if (!host.of_another_boot(claim)) {
        user = FormerUser{claim.domain_uuid, {claim.domain_name}, claim.vmm};
    }
    const auto framework = host.framework(claim.framework);
    const auto freed = prove_free(host, *framework, key, user);
    if (!freed) {
        return fail(kept(key, claim, freed.error()));
    }
    if (claim.managed) {
        auto reset = must_be_ours(host, key);
        if (reset) {
            reset = reset_claimed(lock, *framework, deadline, idle_for);
        }
        if (!reset) {
            return fail(kept(key, claim, reset.error()));
        }
    }
    return host.claims.remove(lock, claim.domain_uuid);
}

Result<bool> repair(Host& host, FrameworkKind kind, const DeviceKey& key, Deadline deadline) {
    VGPU_TRY_ASSIGN(auto lock, host.locks.try_device(key));
    if (!lock) {
        return false;
    }
    const auto framework = host.framework(kind);
    return repair_locked(host, *framework, *lock, deadline);
}

Result<bool> release_incarnation(Host& host, const DeviceKey& key, const Claim& seen,
                                 Deadline deadline) {
    auto lock = host.locks.device(key, deadline.within(std::chrono::seconds(2))); // C3
    if (!lock) {
        return lock.error().code() == ErrorCode::timeout ? Result<bool>(false) : fail(lock.error());
    }
    host.sysfs.set_deadline(deadline);
    VGPU_TRY_ASSIGN(const auto now, host.claims.read(key)); // C4
    if (!now || now->domain_uuid != seen.domain_uuid || now->incarnation != seen.incarnation) {
        return !now.has_value();
    }
    if (seen.state == ClaimState::claimed && now->state != ClaimState::claimed) {
        return false;
    }
    VGPU_TRY(finish_claim(host, *lock, *now, deadline)); // C5 to C8
    return true;
}

namespace {

/// Where a domain has claims, as far as the index can be read, and the devices that its XML names.
/// Found without a lock: libvirt runs one hook of a domain at a time, and what is found is read
/// again under the lock.
std::vector<DeviceKey> devices_to_release(Host& host, const Uuid& domain,
                                          const std::vector<DeviceKey>& named) {
    std::vector<DeviceKey> keys;
    auto indexed = host.claims.devices_of(domain);
    if (indexed) {
        keys = std::move(*indexed);
    } else if (!named.empty()) {
        host.note(NoteLevel::warning, indexed.error().text(), named.front());
    }
    keys.insert(keys.end(), named.begin(), named.end());
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    std::erase_if(keys, [&](const DeviceKey& key) {
        const auto claim = host.claims.read(key);
        return claim && (!*claim || (*claim)->domain_uuid != domain);
    });
    return keys;
}

} // namespace

Result<std::vector<ReleaseOutcome>> release_domain(Host& host, const Uuid& domain,
                                                   const std::vector<DeviceKey>& named,
                                                   const Check& check, Deadline deadline) {
    const std::vector<DeviceKey> keys = devices_to_release(host, domain, named);
    std::vector<ReleaseOutcome> outcomes;
    for (std::size_t done = 0; done < keys.size(); ++done) {
        const DeviceKey& key = keys[done];
        // An equal share of what is left for each, so that one that is stuck does not use up the
        // others' time.
        const Deadline share =
            deadline.within(deadline.remaining() / static_cast<int>(keys.size() - done));
        host.sysfs.set_deadline(share);
        auto lock = host.locks.device(key, share); // R1
        if (!lock) {
            outcomes.push_back({key, fail(lock.error())});
            continue;
        }
        VGPU_TRY(check());                        // R2
        const auto claim = host.claims.read(key); // R3
        if (!claim) {
            outcomes.push_back({key, fail(claim.error())});
            continue;
        }
        if (!*claim || (*claim)->domain_uuid != domain || (*claim)->state == ClaimState::claimed) {
            continue;
        }
        outcomes.push_back({key, finish_claim(host, *lock, **claim, share)}); // R4 to R7
    }
    return outcomes;
}

} // namespace vgpu
