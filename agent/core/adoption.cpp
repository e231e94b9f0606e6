#include "agent/core/adoption.hpp"

#include "agent/core/mdev.hpp"
#include "agent/core/topology.hpp"

#include <fmt/format.h>

#include <utility>

namespace vgpu {

namespace {

struct Place {
    FrameworkKind kind = FrameworkKind::vendor_vfio;
    PciAddress function;
    PciAddress gpu;
};

/// Where a device lives; nullopt if it is no vGPU (a network card, a device that is gone).
Result<std::optional<Place>> place_of(Host& host, const DeviceKey& key) {
    Place place;
    if (key.is_mdev()) {
        Mdev mdev(host.sysfs, host.config);
        VGPU_TRY_ASSIGN(const auto parent, mdev.parent(key.mdev()));
        if (!parent) {
            return std::optional<Place>();
        }
        place.kind = FrameworkKind::mdev;
        place.function = *parent;
    } else {
        VGPU_TRY_ASSIGN(const bool vgpu,
                        host.sysfs.exists(pci_path(key.pci()) + "/nvidia/current_vgpu_type"));
        if (!vgpu) {
            return std::optional<Place>();
        }
        place.function = key.pci();
    }
    VGPU_TRY_ASSIGN(place.gpu, gpu_of(host.sysfs, place.function));
    return std::optional(place);
}

Claim adopted_claim(Host& host, const Uuid& domain, const std::string& name,
                    const RunningDevice& device, const Place& place) {
    const auto framework = host.framework(place.kind);
    Claim claim;
    claim.framework = place.kind;
    claim.device_path = host.sysfs.absolute(framework->path(device.device));
    if (device.device.is_mdev()) {
        claim.mdev_uuid = device.device.mdev();
        claim.parent = place.function;
    }
    claim.gpu = place.gpu;
    claim.profile = device.profile;
    const auto type = framework->type(device.device);
    if (type && *type != 0) {
        claim.type_id = *type;
    }
    claim.domain_uuid = domain;
    claim.domain_name = name;
    claim.device = device.name;
    claim.state = ClaimState::configured;
    claim.managed = !device.name.empty() && host.config.manages(place.gpu, place.function);
    claim.incarnation = Uuid::random();
    claim.boot_id = host.boot_id;
    claim.claimed_at = utc_now();
    const auto vmm = host.witnesses.running_vmm(name);
    if (vmm) {
        claim.vmm = *vmm;
    }
    return claim;
}

Result<bool> adopt(Host& host, const Uuid& domain, const std::string& name,
                   const RunningDevice& device, const Check& check, Deadline deadline) {
    VGPU_TRY_ASSIGN(const DeviceLock lock, host.locks.device(device.device, deadline));
    VGPU_TRY(check());
    VGPU_TRY_ASSIGN(const auto claim, host.claims.read(device.device));
    const bool stale = claim && claim->domain_uuid == domain && host.of_another_boot(*claim);
    if (claim && claim->domain_uuid != domain) {
        return fail(Error(ErrorCode::conflict,
                          fmt::format("{} is used by the running domain {} ({}) but claimed by "
                                      "domain {}; nothing is changed: stop one of them",
                                      device.device.device(), printable(name), domain.to_string(),
                                      claim->owner()))
                        .on(device.device.device())
                        .held_by(claim->domain_uuid.to_string()));
    }
    if (claim && !stale) {
        return false;
    }
    VGPU_TRY_ASSIGN(const auto place, place_of(host, device.device));
    if (!place) {
        return false;
    }
    const Claim adopted = adopted_claim(host, domain, name, device, *place);
    VGPU_TRY(stale ? host.claims.take_over(lock, adopted) : host.claims.link(lock, adopted));
    return true;
}

Result<bool> record(Host& host, const DeviceLock& lock, const Uuid& domain,
                    const std::string& name) {
    VGPU_TRY_ASSIGN(auto claim, host.claims.read(lock.key()));
    if (!claim || claim->domain_uuid != domain || claim->state != ClaimState::configured) {
        return false;
    }
    VGPU_TRY_ASSIGN(const auto vmm, host.witnesses.running_vmm(name));
    if (!vmm || claim->vmm == vmm) {
        return false;
    }
    claim->vmm = vmm;
    VGPU_TRY(host.claims.replace(lock, *claim));
    return true;
}

} // namespace

std::vector<AdoptionOutcome> adopt_domain(Host& host, const Uuid& domain, const std::string& name,
                                          const std::vector<RunningDevice>& devices,
                                          const Check& check, Deadline deadline) {
    std::vector<AdoptionOutcome> outcomes;
    for (const RunningDevice& device : devices) {
        outcomes.push_back({device.device, adopt(host, domain, name, device, check, deadline)});
    }
    return outcomes;
}

Result<int> record_vmm(Host& host, const Uuid& domain, const std::string& name, const Check& check,
                       Deadline deadline) {
    VGPU_TRY_ASSIGN(const auto keys, host.claims.devices_of(domain));
    int recorded = 0;
    for (const DeviceKey& key : keys) {
        const auto lock = host.locks.device(key, deadline);
        if (!lock) {
            host.note(NoteLevel::warning, lock.error().text(), key);
            continue;
        }
        VGPU_TRY(check());
        const auto done = record(host, *lock, domain, name);
        if (!done) {
            host.note(NoteLevel::warning, done.error().text(), key);
        }
        recorded += done && *done ? 1 : 0;
    }
    return recorded;
}

} // namespace vgpu
