#include "agent/core/device_release.hpp"

#include "agent/core/topology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace vgpu {

namespace {

using std::chrono::milliseconds;

/// The claim no longer says what it did: its incarnation is over. No second write when it says so
/// already.
Result<void> mark_draining(Host& host, const DeviceLock& lock, Claim& claim) {
    if (claim.state == ClaimState::draining) {
        return {};
    }
    claim.state = ClaimState::draining;
    return host.claims.replace(lock, claim);
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
    return why.in(fmt::format("{} stays claimed by domain {} as {}", key.device(), claim.owner(),
                              to_string(ClaimState::draining)));
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
            return fail(ErrorCode::busy, vmm.why);
        }
    }
    VGPU_TRY_ASSIGN(const DeviceNodes nodes, framework.nodes(key));
    const Verdict held = host.witnesses.device_held(nodes);
    if (!held.dead()) {
        return fail(ErrorCode::busy, held.why);
    }
    VGPU_TRY_ASSIGN(const Probe probe, Witnesses::exclusive_open(nodes));
    if (probe == Probe::in_use) {
        return fail(ErrorCode::busy,
                    fmt::format("{} is in use ({} is held open)", key.device(), nodes.group));
    }
    return {};
}

bool is_over(const Host& host, const Claim& claim) {
    return claim.state == ClaimState::draining || host.of_another_boot(claim);
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
        const auto reset = reset_claimed(lock, *framework, deadline, idle_for);
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

Result<std::vector<ReleaseOutcome>> release_domain(Host& host, const Uuid& domain,
                                                   const std::vector<DeviceKey>& named,
                                                   const Check& check, Deadline deadline) {
    VGPU_TRY_ASSIGN(std::vector<DeviceKey> keys, host.claims.devices_of(domain));
    keys.insert(keys.end(), named.begin(), named.end());
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());

    std::vector<ReleaseOutcome> outcomes;
    for (const DeviceKey& key : keys) {
        auto lock = host.locks.device(key, deadline); // R1
        if (!lock) {
            // Only worth a word if there is a claim of ours that stays.
            const auto claim = host.claims.read(key);
            if (claim && *claim && (*claim)->domain_uuid == domain) {
                outcomes.push_back({key, fail(lock.error())});
            }
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
        outcomes.push_back({key, finish_claim(host, *lock, **claim, deadline)}); // R4 to R7
    }
    return outcomes;
}

} // namespace vgpu
