#include "agent/assignment/assign.hpp"
#include "agent/core/adoption.hpp"
#include "agent/lifecycle/operation.hpp"

#include <fmt/format.h>

#include <utility>

namespace vgpu {

Result<void> Lifecycle::Operation::point_at_free_devices(const DomainInfo& info) {
    if (!config().libvirt.rebind) {
        return {};
    }
    constexpr std::chrono::seconds patience(10);
    VGPU_TRY_ASSIGN(assignments_, lock_assignments(config().paths, deadline_.within(patience)));
    AssignWish wish;
    wish.domain = info.uuid.to_string();
    VGPU_TRY_ASSIGN(const DomainChange change,
                    assign(*hypervisor_, [this] { return look(); }, wish));
    warnings.insert(warnings.end(), change.warnings.begin(), change.warnings.end());
    assignments_.reset();
    return {};
}

Result<PrepareRequest>
Lifecycle::Operation::reservation_request(const Definition& definition) const {
    PrepareRequest request;
    request.domain = definition.info.uuid;
    request.name = definition.info.name;
    for (const xml::VgpuRequest& wanted : definition.view.requests) {
        const xml::Hostdev* hostdev = definition.view.hostdev_of(wanted);
        const auto key = hostdev != nullptr ? key_of(*hostdev) : std::nullopt;
        if (!key) {
            return fail(ErrorCode::conflict,
                        fmt::format("{}: its request {} has no device; `virt-vgpu assign {}` gives "
                                    "it one",
                                    named(definition.info), printable(wanted.name, 60),
                                    printable(definition.info.name)));
        }
        request.wanted.push_back({wanted.name, wanted.profile, wanted.gpu, wanted.params, *key});
    }
    return request;
}

/// libvirt has started the domain. If our reservation is still what it was, no hook has claimed the
/// devices: they are protected at least, and the person is told.
Result<void> Lifecycle::Operation::hook_has_run(const Definition& definition, int still_reserved) {
    if (still_reserved == 0) {
        return {};
    }
    std::vector<RunningDevice> devices;
    for (const xml::VgpuRequest& wanted : definition.view.requests) {
        if (const xml::Hostdev* hostdev = definition.view.hostdev_of(wanted)) {
            devices.push_back({*key_of(*hostdev), wanted.name, wanted.profile});
        }
    }
    for (const AdoptionOutcome& outcome : adopt_domain(
             host(), definition.info.uuid, definition.info.name, devices,
             [] { return Result<void>(); }, deadline_)) {
        if (!outcome.result) {
            host().note(NoteLevel::warning, outcome.result.error().text(), outcome.device);
        }
    }
    return fail(
        ErrorCode::unavailable,
        fmt::format("libvirt started {} without calling the hook of virt-vgpu, so its vGPU "
                    "was not configured; see `virt-vgpu doctor`: the hook is not installed, "
                    "or the libvirt daemon was not restarted since",
                    named(definition.info)));
}

Result<void> Lifecycle::Operation::start(const DomainInfo& info) {
    VGPU_TRY_ASSIGN(const auto stale, end_claims(info.uuid));
    for (const Error& error : stale) {
        warnings.push_back("of an earlier run: " + error.text());
    }
    VGPU_TRY(point_at_free_devices(info));
    VGPU_TRY_ASSIGN(const Definition definition,
                    definition_of(*hypervisor_, info.uuid.to_string()));
    VGPU_TRY_ASSIGN(const PrepareRequest request, reservation_request(definition));
    VGPU_TRY_ASSIGN(const auto reserved, reserve(host(), request, deadline_)); // D1 to D3
    hypervisor_->set_deadline(deadline_);
    const auto started = hypervisor_->start(info.uuid.to_string()); // D4
    // D5 and D6 in any case: a start that failed, or may still be under way, is the hook's to end.
    const int left = drop_reservations(host(), reserved, Deadline::in(std::chrono::seconds(5)));
    if (!started) {
        return fail(started.error());
    }
    return hook_has_run(definition, left);
}

Result<InstanceState> Lifecycle::start(const std::string& id, Deadline deadline) {
    VGPU_TRY_ASSIGN(const auto operation, Operation::open(*this, deadline));
    VGPU_TRY_ASSIGN(const DomainInfo info, operation->take(id));
    if (!info.active) {
        VGPU_TRY(operation->start(info));
    }
    return operation->state_of(info.uuid.to_string());
}

Result<InstanceState> Lifecycle::reboot(const std::string& id, Deadline deadline) {
    VGPU_TRY_ASSIGN(const auto operation, Operation::open(*this, deadline));
    VGPU_TRY_ASSIGN(const DomainInfo info, operation->take(id));
    if (!info.active) {
        return fail(ErrorCode::conflict, named(info) + " is not running: start it");
    }
    VGPU_TRY(operation->hypervisor().reboot(info.uuid.to_string()));
    return operation->state_of(info.uuid.to_string());
}

} // namespace vgpu
