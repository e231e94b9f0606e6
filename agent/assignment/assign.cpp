#include "agent/assignment/assign.hpp"

#include "agent/assignment/definition.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace vgpu {

namespace {

using xml::VgpuRequest;

constexpr const char* default_name = "vgpu0";

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
    for (const PlannedDevice& planned : change.devices) {
        if (!planned.warning.empty()) {
            change.warnings.push_back(planned.warning);
        }
    }
    VGPU_TRY_ASSIGN(change.changed, write_plan(hypervisor, definition, change.devices));
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

} // namespace vgpu
