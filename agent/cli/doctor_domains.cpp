#include "agent/assignment/assignment_plan.hpp"
#include "agent/cli/doctor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace vgpu::cli {

namespace {

using xml::DomainView;
using xml::Hostdev;

constexpr const char* check_name = "domains";

const DeviceInfo* vf_at(const Inventory& inventory, const PciAddress& address) {
    const auto found = std::find_if(
        inventory.devices.begin(), inventory.devices.end(), [&address](const DeviceInfo& device) {
            return device.function == address && device.framework == FrameworkKind::vendor_vfio;
        });
    return found == inventory.devices.end() ? nullptr : &*found;
}

bool is_requested(const DomainView& domain, const Hostdev& hostdev) {
    return std::any_of(domain.requests.begin(), domain.requests.end(),
                       [&](const auto& request) { return domain.hostdev_of(request) == &hostdev; });
}

/// A vGPU, ours or not: an mdev, a VF that can carry one, or whatever a request points at.
bool is_vgpu(const Inventory& inventory, const DomainView& domain, const Hostdev& hostdev) {
    const auto key = key_of(hostdev);
    return key && (key->is_mdev() || is_requested(domain, hostdev) ||
                   vf_at(inventory, key->pci()) != nullptr);
}

std::string assign_advice(const ExaminedDomain& domain) {
    return fmt::format("virt-vgpu assign {}", printable(domain.name));
}

/// A running domain's vGPUs are claimed by it, or the hook does not run.
void check_running(const Examination& examination, const ExaminedDomain& domain,
                   Findings& findings) {
    for (const Hostdev& hostdev : domain.running->hostdevs) {
        if (!is_vgpu(examination.inventory, *domain.running, hostdev)) {
            continue;
        }
        const DeviceKey key = *key_of(hostdev);
        const auto& claims = examination.inventory.claims;
        const auto claim =
            std::find_if(claims.begin(), claims.end(),
                         [&key](const StoredClaim& stored) { return stored.key == key; });
        if (claim == claims.end()) {
            findings.fail(
                check_name,
                fmt::format("{} is running with {} and has no claim on it", printable(domain.name),
                            key.device()),
                "the hook did not run for it: see its check; then systemctl restart libvirtd "
                "(guests go on) lets the hook record what runs");
        } else if (claim->claim && claim->claim->domain_uuid != domain.uuid) {
            findings.fail(check_name,
                          fmt::format("{} is running with {}, which is claimed by domain {}",
                                      printable(domain.name), key.device(), claim->claim->owner()),
                          "stop one of the two; nothing is reset while either runs");
        }
    }
}

void check_hostdev(const Examination& examination, const ExaminedDomain& domain,
                   const Hostdev& hostdev, Findings& findings) {
    const Inventory& inventory = examination.inventory;
    if (!hostdev.address) {
        return;
    }
    const std::string address = hostdev.address->to_string();
    const std::string name = printable(domain.name);
    const GpuInfo* gpu = inventory.gpu(*hostdev.address);
    if (hostdev.managed && vf_at(inventory, *hostdev.address) != nullptr) {
        findings.fail(
            check_name,
            fmt::format("{} has {} with managed='yes': libvirt would take the VF from the "
                        "nvidia driver and break it; the hook refuses the start",
                        name, address),
            fmt::format("virsh edit {}: managed='no'", name));
    } else if (gpu != nullptr && gpu->allocated > 0) {
        findings.warn(
            check_name,
            fmt::format("{} has the whole GPU {}, of which {} vGPUs are in use", name, address,
                        gpu->allocated),
            "starting it would take the GPU from under them: give it a VF, or another GPU");
    } else if (is_requested(*domain.defined, hostdev) &&
               vf_at(inventory, *hostdev.address) == nullptr) {
        findings.warn(check_name,
                      fmt::format("{} has {}, which is no VF that makes vGPUs", name, address),
                      assign_advice(domain) + ", if SR-IOV is on");
    }
}

void check_defined(const Examination& examination, const ExaminedDomain& domain,
                   Findings& findings) {
    const DomainView& view = *domain.defined;
    const std::string name = printable(domain.name);
    if (view.is_copy() && !view.requests.empty()) {
        findings.warn(check_name,
                      fmt::format("{} is a copy of domain {} and may share its devices", name,
                                  view.request_domain->to_string()),
                      assign_advice(domain));
    }
    for (const auto& request : view.requests) {
        if (view.hostdev_of(request) == nullptr) {
            findings.warn(check_name,
                          fmt::format("{} asks for {} ({}) and has no device for it", name,
                                      request.name, printable(request.profile, 80)),
                          assign_advice(domain));
        }
    }
    for (const Hostdev& hostdev : view.hostdevs) {
        check_hostdev(examination, domain, hostdev, findings);
    }
}

/// Which domains' definitions name each vGPU.
void check_shared(const Examination& examination, Findings& findings) {
    std::map<DeviceKey, std::set<std::string>> names;
    for (const ExaminedDomain& domain : examination.domains) {
        if (!domain.defined) {
            continue;
        }
        for (const Hostdev& hostdev : domain.defined->hostdevs) {
            if (is_vgpu(examination.inventory, *domain.defined, hostdev)) {
                names[*key_of(hostdev)].insert(printable(domain.name));
            }
        }
    }
    for (const auto& [key, domains] : names) {
        if (domains.size() > 1) {
            findings.warn(
                check_name,
                fmt::format("{} is the device of {} domains: {}", key.device(), domains.size(),
                            fmt::join(domains, ", ")),
                fmt::format("only one of them can run at a time; virt-vgpu assign {} gives "
                            "that one another",
                            *domains.rbegin()));
        }
    }
}

} // namespace

void check_domains(const Examination& examination, Findings& findings) {
    if (!examination.libvirt) {
        findings.skip(check_name, "libvirt could not be asked");
        return;
    }
    const auto before = findings.all().size();
    for (const ExaminedDomain& domain : examination.domains) {
        if (domain.running) {
            check_running(examination, domain, findings);
        }
        if (domain.defined) {
            check_defined(examination, domain, findings);
        }
    }
    check_shared(examination, findings);
    if (findings.all().size() == before) {
        findings.ok(check_name,
                    fmt::format("{} domain{}: devices and claims agree", examination.domains.size(),
                                examination.domains.size() == 1 ? "" : "s"));
    }
}

} // namespace vgpu::cli
