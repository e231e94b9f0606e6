#include "agent/cli/doctor.hpp"
#include "agent/cli/tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace vgpu::cli {

namespace {

constexpr const char* claims = "claims";

/// "3 h 12 min", "45 s".
std::string age_text(std::chrono::milliseconds age) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(age).count();
    if (seconds < 120) {
        return fmt::format("{} s", seconds);
    }
    const auto minutes = seconds / 60;
    return minutes < 120 ? fmt::format("{} min", minutes)
                         : fmt::format("{} h {} min", minutes / 60, minutes % 60);
}

std::string release_advice(const DeviceKey& key) {
    return fmt::format("virt-vgpu release {}", key.device());
}

std::string what(const StoredClaim& stored) {
    return fmt::format("{}, claimed by domain {}", stored.key.device(), stored.claim->owner());
}

bool device_is_there(const Inventory& inventory, const DeviceKey& key) {
    // An mdev is made at start: that it is not there says nothing.
    return key.is_mdev() ||
           std::any_of(inventory.devices.begin(), inventory.devices.end(),
                       [&key](const DeviceInfo& device) { return device.function == key.pci(); });
}

/// What the claim alone says. False if that is reason enough to say no more of it.
bool check_one(const Examination& examination, const StoredClaim& stored, Findings& findings) {
    if (!stored.claim) {
        findings.fail(claims, stored.claim.error().text(),
                      release_advice(stored.key) + " --force, once nothing uses the device");
        return false;
    }
    const Claim& claim = *stored.claim;
    if (!device_is_there(examination.inventory, stored.key)) {
        findings.warn(claims, what(stored) + ": the device is not there",
                      "if SR-IOV was switched off, switch it on again; else " +
                          release_advice(stored.key));
        return false;
    }
    if (claim.state == ClaimState::draining) {
        const auto age = examination.host.claims.age(stored.key);
        findings.warn(
            claims,
            fmt::format("{}: draining for {}, the device is not yet proven free", what(stored),
                        age ? age_text(*age) : "an unknown time"),
            release_advice(stored.key) +
                ", which says what stands in the way; the next start that needs the device "
                "tries as well");
        return false;
    }
    if (examination.host.of_another_boot(claim)) {
        findings.warn(claims, what(stored) + ": left from before the last boot",
                      "the next start that needs the device clears it, or " +
                          release_advice(stored.key));
        return false;
    }
    return true;
}

void check_against_domains(const Examination& examination, const StoredClaim& stored,
                           Findings& findings) {
    const auto& domains = examination.domains;
    const auto domain =
        std::find_if(domains.begin(), domains.end(), [&stored](const ExaminedDomain& one) {
            return one.uuid == stored.claim->domain_uuid;
        });
    if (domain == domains.end()) {
        findings.warn(claims, what(stored) + ": libvirt knows no such domain",
                      release_advice(stored.key) +
                          "; see that no other libvirt (another URI, a session) runs it");
    } else if (!domain->active && stored.claim->state != ClaimState::claimed) {
        findings.warn(
            claims, what(stored) + ": the domain is shut off, and its release did not happen",
            release_advice(stored.key) +
                " (with --force if its VMM was never recorded); see the check of the hook");
    }
}

} // namespace

void check_claims(const Examination& examination, Findings& findings) {
    const auto before = findings.all().size();
    for (const StoredClaim& stored : examination.inventory.claims) {
        if (check_one(examination, stored, findings) && examination.libvirt) {
            check_against_domains(examination, stored, findings);
        }
    }
    if (findings.all().size() == before) {
        const std::size_t count = examination.inventory.claims.size();
        const char* what_of_them =
            examination.libvirt ? "of running domains, or reserved" : "all readable";
        findings.ok(claims, count == 0 ? "none"
                                       : fmt::format("{} claim{}, {}", count, count == 1 ? "" : "s",
                                                     what_of_them));
    }
}

void check_devices(const Examination& examination, Findings& findings) {
    constexpr const char* devices = "devices";
    for (const DeviceInfo& device : examination.inventory.devices) {
        const std::string name = device.key().device();
        if (device.claim || !device.error.empty()) {
            continue;
        }
        const std::string carries =
            device.type_id.value_or(0) == 0
                ? "nothing"
                : fmt::format("{} (type {})", device.profile.empty() ? "?" : device.profile,
                              *device.type_id);
        if (device.holder) {
            findings.warn(
                devices,
                fmt::format("{} carries {} and is held open by {} without a claim", name, carries,
                            device.holder->to_string()),
                "if that is a domain of libvirt, the hook did not run for it; else another "
                "tool uses the device: list it in [gpus] ignored");
        } else if (device.dirty() && device.foreign()) {
            findings.ok(devices, fmt::format("{} carries {}, made by somebody else: left alone",
                                             name, carries));
        } else if (device.dirty()) {
            findings.warn(
                devices, fmt::format("{} carries {} and nobody has claimed it", name, carries),
                release_advice(device.key()) + ", or leave it to the next start that needs it");
        }
    }
}

} // namespace vgpu::cli
