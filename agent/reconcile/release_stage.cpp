#include "agent/core/device_release.hpp"
#include "agent/reconcile/pass.hpp"

#include <fmt/format.h>

#include <utility>

namespace vgpu {

namespace {

/// Step C2: libvirt knows that no VMM of the claim's domain runs or starts. Asked with no lock held
/// but the domain's instance lock. No answer is no "no".
Result<bool> inactive(Pass& pass, const Claim& claim) {
    const KnownDomain* known = pass.domain(claim.domain_uuid);
    if (!pass.domains || (known != nullptr && known->info.active)) {
        return false;
    }
    const auto active = pass.input.hypervisor->active(claim.domain_uuid.to_string());
    if (!active && active.error().code() == ErrorCode::not_found) {
        return true; // undefined, or transient and gone
    }
    if (!active) {
        return fail(active.error());
    }
    return !*active;
}

/// Whether the claim would be ended: for a dry run.
bool would_end(Pass& pass, const DeviceKey& key, const Claim& claim) {
    if (claim.state == ClaimState::claimed) {
        return true;
    }
    const auto framework = pass.host().framework(claim.framework);
    const auto nodes = framework->nodes(key);
    const bool vmm_dead =
        pass.host().of_another_boot(claim) ||
        pass.host().witnesses.vmm(claim.domain_uuid, {claim.domain_name}, claim.vmm).dead();
    return vmm_dead && nodes && pass.host().witnesses.device_held(*nodes).dead();
}

std::string_view what_is_done(const Claim& claim) {
    return claim.state == ClaimState::claimed || !claim.managed ? "forget" : "reset and free";
}

void end_claim(Pass& pass, const DeviceKey& key, const Claim& claim) {
    const auto text = fmt::format("{} {}, {} for domain {}", what_is_done(claim), key.device(),
                                  to_string(claim.state), claim.owner());
    const auto add = [&](std::optional<Error> error) {
        pass.add(Stage::release, text, key, claim.domain_name, claim.domain_uuid, std::move(error));
    };
    if (pass.input.dry_run) {
        if (would_end(pass, key, claim)) {
            add(std::nullopt);
        }
        return;
    }
    const auto released =
        release_incarnation(pass.host(), key, claim, pass.input.deadline.within(share_of_a_device));
    if (!released) {
        add(released.error());
    } else if (*released) {
        add(std::nullopt);
    }
}

void look_at_claim(Pass& pass, const DeviceKey& key) {
    const auto first = pass.host().claims.read(key);
    if (!first || !*first) {
        return; // told in the inventory, or gone meanwhile
    }
    const auto guard = pass.input.guard((*first)->domain_uuid); // C0
    if (!guard) {
        return; // an operation on the domain is under way, and looks after the claim itself
    }
    const auto claim = pass.host().claims.read(key); // C1
    if (!claim || !*claim || (*claim)->domain_uuid != (*first)->domain_uuid) {
        return;
    }
    if ((*claim)->state != ClaimState::draining) {
        const auto over = inactive(pass, **claim);
        if (!over) {
            pass.add(Stage::release, fmt::format("look at {}", key.device()), key,
                     (*claim)->domain_name, (*claim)->domain_uuid, over.error());
            return;
        }
        if (!*over) {
            return;
        }
    }
    end_claim(pass, key, **claim);
}

} // namespace

void release_stage(Pass& pass) {
    for (const StoredClaim& stored : pass.inventory.claims) {
        if (pass.out_of_time()) {
            return;
        }
        if (!stored.claim) {
            pass.report.problems.push_back(fmt::format(
                "{} counts as claimed: {}", stored.key.device(), stored.claim.error().text()));
            continue;
        }
        look_at_claim(pass, stored.key);
    }
}

} // namespace vgpu
