#include "agent/core/adoption.hpp"
#include "agent/core/suspects.hpp"
#include "agent/reconcile/pass.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace vgpu {

namespace {

using ClaimsByDevice = std::map<DeviceKey, const StoredClaim*>;

ClaimsByDevice by_device(const Inventory& inventory) {
    ClaimsByDevice claims;
    for (const StoredClaim& stored : inventory.claims) {
        claims.emplace(stored.key, &stored);
    }
    return claims;
}

/// What a running domain has, as its request names it.
std::vector<RunningDevice> devices_of(const xml::DomainView& view) {
    std::vector<RunningDevice> devices;
    for (const xml::Hostdev& hostdev : view.hostdevs) {
        const auto key = key_of(hostdev);
        if (!key) {
            continue;
        }
        RunningDevice device{*key, "", ""};
        for (const xml::VgpuRequest& request : view.requests) {
            if (!view.is_copy() && view.hostdev_of(request) == &hostdev) {
                device.name = request.name;
                device.profile = request.profile;
            }
        }
        devices.push_back(std::move(device));
    }
    return devices;
}

bool lacks_claim(const Host& host, const ClaimsByDevice& claims, const DeviceKey& key) {
    const auto found = claims.find(key);
    return found == claims.end() ||
           (found->second->claim && host.of_another_boot(*found->second->claim));
}

/// Made under the device lock, where libvirt may not be asked: the VMM itself is the witness. A
/// domain that is active for libvirt and has none is starting, or has just stopped: neither is a
/// failure.
Check still_runs(Host& host, const DomainInfo& domain) {
    return [&host, &domain]() -> Result<void> {
        if (host.witnesses.vmm(domain.uuid, {domain.name}, std::nullopt).dead()) {
            return fail(ErrorCode::unavailable,
                        fmt::format("no VMM of domain {} is seen", printable(domain.name)));
        }
        return {};
    };
}

bool is_no_vmm(const Error& error) {
    return error.code() == ErrorCode::unavailable;
}

void adopt_missing(Pass& pass, const DomainInfo& domain, std::vector<RunningDevice> devices,
                   const ClaimsByDevice& claims) {
    std::erase_if(devices, [&](const RunningDevice& device) {
        return !lacks_claim(pass.host(), claims, device.device);
    });
    if (pass.input.dry_run) {
        for (const RunningDevice& device : devices) {
            const auto& rows = pass.inventory.devices;
            if (std::any_of(rows.begin(), rows.end(), [&device](const DeviceInfo& row) {
                    return row.key() == device.device && row.framework;
                })) {
                pass.add(Stage::adopt,
                         fmt::format("claim {} for domain {}, which runs on it without a claim",
                                     device.device.device(), printable(domain.name)),
                         device.device, domain.name, domain.uuid);
            }
        }
        return;
    }
    const auto outcomes = adopt_domain(pass.host(), domain.uuid, domain.name, devices,
                                       still_runs(pass.host(), domain),
                                       pass.input.deadline.within(share_of_a_device));
    for (const AdoptionOutcome& outcome : outcomes) {
        if (outcome.result ? !*outcome.result : is_no_vmm(outcome.result.error())) {
            continue;
        }
        pass.add(Stage::adopt,
                 fmt::format("claim {} for domain {}, which runs on it without a claim",
                             outcome.device.device(), printable(domain.name)),
                 outcome.device, domain.name, domain.uuid,
                 outcome.result ? std::nullopt : std::optional(outcome.result.error()));
    }
}

/// A claim of this boot whose VMM is not recorded: the hook's `started` was lost.
bool lacks_vmm(const std::vector<RunningDevice>& devices, const ClaimsByDevice& claims,
               const Uuid& domain) {
    return std::any_of(devices.begin(), devices.end(), [&](const RunningDevice& device) {
        const auto found = claims.find(device.device);
        return found != claims.end() && found->second->claim &&
               found->second->claim->domain_uuid == domain &&
               found->second->claim->state == ClaimState::configured && !found->second->claim->vmm;
    });
}

void record_lost_vmm(Pass& pass, const DomainInfo& domain) {
    const auto recorded =
        record_vmm(pass.host(), domain.uuid, domain.name, still_runs(pass.host(), domain),
                   pass.input.deadline.within(share_of_a_device));
    if (recorded ? *recorded > 0 : !is_no_vmm(recorded.error())) {
        pass.add(Stage::adopt, fmt::format("record the VMM of domain {}", printable(domain.name)),
                 std::nullopt, domain.name, domain.uuid,
                 recorded ? std::nullopt : std::optional(recorded.error()));
    }
}

/// A suspect that has served for longer than a guest's driver needs to initialise is none any more.
void clear_suspects(Pass& pass) {
    constexpr std::chrono::minutes served(5);
    for (const DeviceInfo& row : pass.inventory.devices) {
        if (!row.suspect || !row.in_use.value_or(false) || pass.input.dry_run) {
            continue;
        }
        const auto age = pass.host().claims.age(row.key());
        if (age && *age > served) {
            const auto cleared = clear_suspect(pass.input.change.config().paths, row.key());
            pass.add(Stage::adopt, fmt::format("trust {} again", row.key().device()), row.key(), "",
                     std::nullopt, cleared ? std::nullopt : std::optional(cleared.error()));
        }
    }
}

} // namespace

void adopt_stage(Pass& pass) {
    clear_suspects(pass);
    if (!pass.domains) {
        return;
    }
    const ClaimsByDevice claims = by_device(pass.inventory);
    for (const KnownDomain& domain : *pass.domains) {
        if (pass.out_of_time()) {
            return;
        }
        if (!domain.info.active || !domain.live) {
            continue;
        }
        const auto devices = devices_of(*domain.live);
        const bool missing =
            std::any_of(devices.begin(), devices.end(), [&](const RunningDevice& device) {
                return lacks_claim(pass.host(), claims, device.device);
            });
        const bool unrecorded = lacks_vmm(devices, claims, domain.info.uuid);
        const auto guard = missing || unrecorded ? pass.input.guard(domain.info.uuid) : nullptr;
        if (!guard) {
            continue;
        }
        if (missing) {
            adopt_missing(pass, domain.info, devices, claims);
        }
        if (unrecorded && !pass.input.dry_run) {
            record_lost_vmm(pass, domain.info);
        }
    }
}

} // namespace vgpu
