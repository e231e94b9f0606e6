#include "agent/core/device_release.hpp"
#include "agent/reconcile/pass.hpp"

#include <fmt/format.h>

#include <map>
#include <set>

namespace vgpu {

namespace {

/// Devices that domains name, and whether it is a request of ours that does.
std::map<DeviceKey, bool> named_devices(const std::vector<KnownDomain>& domains) {
    std::map<DeviceKey, bool> named;
    for (const KnownDomain& domain : domains) {
        for (const auto* view : {&domain.persistent, &domain.live}) {
            if (!*view) {
                continue;
            }
            std::set<const xml::Hostdev*> requested;
            for (const xml::VgpuRequest& request : (*view)->requests) {
                requested.insert((*view)->hostdev_of(request));
            }
            for (const xml::Hostdev& hostdev : (*view)->hostdevs) {
                const auto key = key_of(hostdev);
                if (key) {
                    const bool ours = requested.contains(&hostdev);
                    const auto [entry, fresh] = named.emplace(*key, ours);
                    entry->second = (fresh || entry->second) && ours;
                }
            }
        }
    }
    return named;
}

/// A leftover of ours that may be cleaned: an unclaimed VF with a type, unless a domain that asked
/// us for nothing names it; an unclaimed mdev only if a request of ours names it, since another
/// tool may have made any other.
bool is_leftover(const DeviceInfo& row, const std::map<DeviceKey, bool>& named) {
    if (!row.dirty() || !row.managed || !row.framework || row.in_use.value_or(true)) {
        return false;
    }
    const auto found = named.find(row.key());
    return found == named.end() ? !row.mdev.has_value() : found->second;
}

} // namespace

void repair_stage(Pass& pass) {
    if (!pass.domains) {
        return; // whose the devices are is not known
    }
    const auto named = named_devices(*pass.domains);
    for (const DeviceInfo& row : pass.inventory.devices) {
        if (pass.out_of_time()) {
            return;
        }
        if (!is_leftover(row, named)) {
            continue;
        }
        const DeviceKey key = row.key();
        const auto text = fmt::format(
            "reset {}, which carries {} and no claim", key.device(),
            row.profile.empty() ? fmt::format("type {}", row.type_id.value_or(0)) : row.profile);
        if (pass.input.dry_run) {
            pass.add(Stage::repair, text, key, "", std::nullopt);
            continue;
        }
        const Deadline share = pass.input.deadline.within(share_of_a_device);
        pass.host().sysfs.set_deadline(share);
        const auto repaired = repair(pass.host(), *row.framework, key, share);
        if (!repaired || *repaired) {
            pass.add(Stage::repair, text, key, "", std::nullopt,
                     repaired ? std::nullopt : std::optional(repaired.error()));
        }
    }
}

} // namespace vgpu
