#include "agent/cli/assign.hpp"

#include "agent/core/profile_name.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace vgpu::cli {

namespace {

using xml::DomainView;
using xml::VgpuRequest;

constexpr const char* default_name = "vgpu0";

/// A domain that can be given another definition, with what we read in it.
struct Definition {
    DomainInfo info;
    DomainView view;
};

Result<Definition> definition_of(Hypervisor& hypervisor, const std::string& name) {
    VGPU_TRY_ASSIGN(DomainInfo info, hypervisor.domain(name));
    if (!info.persistent) {
        return fail(
            ErrorCode::unsupported,
            fmt::format("domain {} is transient: it has no persistent definition that a vGPU "
                        "could be written into; define it first (virsh dumpxml {} >FILE; virsh "
                        "define FILE)",
                        printable(info.name), printable(info.name)));
    }
    auto view = xml::read_domain(info.xml);
    if (!view) {
        return fail(view.error().in(fmt::format("the XML of domain {}", printable(info.name))));
    }
    return Definition{std::move(info), std::move(*view)};
}

DomainChange change_of(const Definition& definition) {
    DomainChange change;
    change.uuid = definition.info.uuid;
    change.name = definition.info.name;
    change.running = definition.info.active;
    if (definition.info.has_saved_state) {
        change.warnings.push_back(fmt::format(
            "the domain has a saved state, and restoring that brings back the definition of then: "
            "remove it (virsh managedsave-remove {}) for the change to take effect",
            printable(definition.info.name)));
    }
    return change;
}

/// Gives the domain the definition `xml`, unless somebody has changed it since it was read.
Result<Definition> redefine(Hypervisor& hypervisor, const Definition& before,
                            const std::string& xml) {
    const std::string uuid = before.info.uuid.to_string();
    VGPU_TRY_ASSIGN(const DomainInfo now, hypervisor.domain(uuid));
    if (now.xml != before.info.xml) {
        return fail(
            ErrorCode::conflict,
            fmt::format("the definition of domain {} was changed by somebody else just now: "
                        "nothing was written, try again",
                        printable(before.info.name)));
    }
    const auto defined = hypervisor.define(xml);
    if (!defined) {
        return fail(defined.error().code() == ErrorCode::timeout
                        ? defined.error().hint("whether the definition has changed is not known: "
                                               "look at `virsh dumpxml --inactive`")
                        : defined.error());
    }
    return definition_of(hypervisor, uuid);
}

Error not_kept(const Definition& definition, const std::string& request) {
    return Error(ErrorCode::io,
                 fmt::format("libvirt took the definition of domain {} but did not keep what was "
                             "written of {}: look at `virsh dumpxml --inactive {}`",
                             printable(definition.info.name), request,
                             printable(definition.info.name)));
}

/// libvirt drops, without a word, what it does not know in a definition.
Result<void> has_survived(const Definition& definition, const PlannedDevice& planned) {
    const VgpuRequest& wanted = planned.assignment.request;
    const DomainView& view = definition.view;
    const auto found = std::find(view.requests.begin(), view.requests.end(), wanted);
    const xml::Hostdev* hostdev = found == view.requests.end() ? nullptr : view.hostdev_of(*found);
    if (hostdev == nullptr || key_of(*hostdev) != planned.assignment.device || hostdev->managed ||
        view.request_domain != view.uuid) {
        return fail(not_kept(definition, wanted.name));
    }
    return {};
}

/// What the other domains' XML names, running or not.
std::vector<NamedDevice> named_elsewhere(const std::vector<DomainInfo>& domains, const Uuid& own,
                                         std::vector<std::string>& warnings) {
    std::vector<NamedDevice> named;
    for (const DomainInfo& domain : domains) {
        if (domain.uuid == own) {
            continue;
        }
        std::string trouble = domain.error;
        for (const std::string* xml : {&domain.xml, &domain.live_xml}) {
            const auto view =
                xml->empty() ? fail(ErrorCode::not_found, "") : xml::read_domain(*xml);
            if (!view) {
                trouble = xml->empty() ? trouble : view.error().text();
                continue;
            }
            for (const xml::Hostdev& hostdev : view->hostdevs) {
                const auto key = key_of(hostdev);
                if (!key) {
                    continue;
                }
                NamedDevice device{*key, domain.name, ""};
                for (const VgpuRequest& request : view->requests) {
                    device.profile =
                        view->hostdev_of(request) == &hostdev ? request.profile : device.profile;
                }
                named.push_back(std::move(device));
            }
        }
        if (!trouble.empty()) {
            warnings.push_back(fmt::format("the devices of domain {} are not known: {}",
                                           printable(domain.name), trouble));
        }
    }
    return named;
}

/// The request as it shall be: what the domain has, changed by what was wished.
VgpuRequest wished(const AssignWish& wish, VgpuRequest request) {
    request.profile = wish.profile.value_or(request.profile);
    request.params = wish.params.value_or(request.params);
    if (wish.gpu || wish.any_gpu) {
        request.gpu = wish.gpu;
    }
    return request;
}

Result<std::vector<VgpuRequest>> requests_of(const AssignWish& wish, const Definition& definition) {
    std::vector<VgpuRequest> requests;
    const bool all = !wish.profile && !wish.name;
    const std::string name = wish.name.value_or(default_name);
    for (const VgpuRequest& request : definition.view.requests) {
        if (all || request.name == name) {
            requests.push_back(wished(wish, request));
        }
    }
    if (!requests.empty()) {
        return requests;
    }
    if (!wish.profile) {
        return fail(
            ErrorCode::not_found,
            fmt::format("domain {} has no {} to be given a device: name the profile that it "
                        "shall have (--profile; see `virt-vgpu profiles`)",
                        printable(definition.info.name),
                        all ? "vGPU request" : "request " + printable(name, 60)));
    }
    VgpuRequest fresh;
    fresh.name = name;
    requests.push_back(wished(wish, fresh));
    return requests;
}

} // namespace

Result<DomainChange> assign(Hypervisor& hypervisor, const LookAtHost& look, const AssignWish& wish,
                            const RandomBelow& random) {
    VGPU_TRY_ASSIGN(const Definition definition, definition_of(hypervisor, wish.domain));
    VGPU_TRY_ASSIGN(const auto requests, requests_of(wish, definition));
    VGPU_TRY_ASSIGN(const HypervisorFacts facts, hypervisor.facts());
    VGPU_TRY_ASSIGN(const auto domains, hypervisor.domains());
    DomainChange change = change_of(definition);
    const auto elsewhere = named_elsewhere(domains, definition.info.uuid, change.warnings);
    VGPU_TRY_ASSIGN(const Inventory inventory, look());
    VGPU_TRY_ASSIGN(
        change.devices,
        plan_assignments({inventory, facts, elsewhere, definition.view, random}, requests));
    std::string xml = definition.info.xml;
    for (const PlannedDevice& planned : change.devices) {
        VGPU_TRY_ASSIGN(xml, xml::with_assignment(xml, planned.assignment));
        if (!planned.warning.empty()) {
            change.warnings.push_back(planned.warning);
        }
    }
    change.changed = xml != definition.info.xml;
    if (change.changed) {
        VGPU_TRY_ASSIGN(const Definition after, redefine(hypervisor, definition, xml));
        for (const PlannedDevice& planned : change.devices) {
            VGPU_TRY(has_survived(after, planned));
        }
    }
    return change;
}

Result<DomainChange> unassign(Hypervisor& hypervisor, const std::string& domain,
                              const std::string& name) {
    VGPU_TRY_ASSIGN(const Definition definition, definition_of(hypervisor, domain));
    DomainChange change = change_of(definition);
    std::string xml = definition.info.xml;
    for (const VgpuRequest& request : definition.view.requests) {
        if (name.empty() || request.name == name) {
            VGPU_TRY_ASSIGN(xml, xml::without_assignment(xml, request.name));
            change.removed.push_back(request.name);
        }
    }
    if (change.removed.empty()) {
        return fail(ErrorCode::not_found,
                    fmt::format("domain {} has no vGPU request{}", printable(definition.info.name),
                                name.empty() ? "" : " named " + printable(name, 60)));
    }
    change.changed = true;
    VGPU_TRY_ASSIGN(const Definition after, redefine(hypervisor, definition, xml));
    for (const VgpuRequest& request : after.view.requests) {
        if (std::find(change.removed.begin(), change.removed.end(), request.name) !=
            change.removed.end()) {
            return fail(not_kept(after, request.name));
        }
    }
    return change;
}

} // namespace vgpu::cli
