#include "agent/lifecycle/operation.hpp"

#include "agent/core/device_release.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace vgpu {

std::string named(const DomainInfo& info) {
    return fmt::format("domain {} ({})", printable(info.name), info.uuid.to_string());
}

Result<std::unique_ptr<Lifecycle::Operation>> Lifecycle::Operation::open(Lifecycle& lifecycle,
                                                                         Deadline deadline) {
    std::unique_ptr<Operation> operation(new Operation(lifecycle, deadline));
    VGPU_TRY_ASSIGN(operation->hypervisor_, lifecycle.connect_(deadline));
    VGPU_TRY_ASSIGN(operation->session_,
                    HostSession::open(lifecycle.config_, HostSession::Purpose::change,
                                      deadline.remaining(), lifecycle.note_));
    return operation;
}

Result<void> Lifecycle::Operation::lock(const std::string& name) {
    constexpr std::chrono::seconds patience(5);
    VGPU_TRY_ASSIGN(auto held, lifecycle_.locks_.lock(name, deadline_.within(patience)));
    held_.push_back(std::move(held));
    return {};
}

Result<DomainInfo> Lifecycle::Operation::take(const std::string& id) {
    VGPU_TRY_ASSIGN(const DomainInfo found, hypervisor_->domain(id));
    VGPU_TRY(lock(found.uuid.to_string()));
    // Read again: what was seen before the lock may be what another operation was about to change.
    VGPU_TRY_ASSIGN(DomainInfo info, hypervisor_->domain(found.uuid.to_string()));
    const auto view = xml::read_domain(info.xml.empty() ? info.live_xml : info.xml);
    if (!view) {
        return fail(view.error().in("the XML of " + named(info)));
    }
    if (view->requests.empty()) {
        return fail(ErrorCode::denied,
                    fmt::format("{} has no vGPU request, so it is not virt-vgpu's to change: use "
                                "virsh, or give it a request with `virt-vgpu assign`",
                                named(info)));
    }
    return info;
}

Result<std::vector<StoredClaim>> Lifecycle::Operation::claims_of(const Uuid& domain) {
    // By the list, since the index of a domain's claims is lost at a reboot.
    VGPU_TRY_ASSIGN(auto claims, host().claims.list());
    std::erase_if(claims, [&domain](const StoredClaim& stored) {
        return !stored.claim || stored.claim->domain_uuid != domain;
    });
    return claims;
}

Result<InstanceState> Lifecycle::Operation::state_of(const std::string& id) {
    VGPU_TRY_ASSIGN(const DomainInfo info, hypervisor_->domain(id));
    VGPU_TRY_ASSIGN(const auto stored, claims_of(info.uuid));
    std::vector<Claim> claims;
    for (const StoredClaim& claim : stored) {
        claims.push_back(*claim.claim);
    }
    VGPU_TRY_ASSIGN(InstanceState state, instance_state(info, claims, config().paths.sysfs));
    state.warnings = warnings;
    return state;
}

Result<Inventory> Lifecycle::Operation::look() {
    VGPU_TRY_ASSIGN(const auto session, HostSession::open(config(), HostSession::Purpose::look,
                                                          deadline_.remaining(), lifecycle_.note_));
    return session->look();
}

Result<std::vector<PlannedDevice>> Lifecycle::Operation::plan(const xml::DomainView& view,
                                                              const xml::InstanceRequest& wish) {
    constexpr std::chrono::seconds patience(10);
    VGPU_TRY_ASSIGN(assignments_, lock_assignments(config().paths, deadline_.within(patience)));
    VGPU_TRY_ASSIGN(const HypervisorFacts facts, hypervisor_->facts());
    VGPU_TRY_ASSIGN(const auto domains, hypervisor_->domains());
    const auto elsewhere = named_elsewhere(domains, view.uuid, warnings);
    VGPU_TRY_ASSIGN(const Inventory inventory, look());
    PlanInput input{inventory, facts, elsewhere, view};
    input.packing = wish.policy == "pack" ? Packing::pack : Packing::spread;
    input.distinct_gpus = wish.distinct_gpus;
    for (const xml::InstanceGpu& gpu : wish.gpus) {
        if (gpu.numa_node) {
            input.numa_node = static_cast<int>(*gpu.numa_node);
        }
    }
    if (!input.numa_node && !wish.numa.nodeset.empty()) {
        input.numa_node = std::atoi(wish.numa.nodeset.c_str()); // the first node of the set
    }
    VGPU_TRY_ASSIGN(auto plan, plan_assignments(input, view.requests));
    for (const PlannedDevice& planned : plan) {
        if (!planned.warning.empty()) {
            warnings.push_back(planned.warning);
        }
    }
    return plan;
}

Result<std::vector<Error>> Lifecycle::Operation::end_claims(const Uuid& domain) {
    VGPU_TRY_ASSIGN(const auto claims, claims_of(domain));
    std::vector<Error> kept;
    for (const StoredClaim& stored : claims) {
        constexpr std::chrono::seconds share(10);
        const auto released =
            release_incarnation(host(), stored.key, *stored.claim, deadline_.within(share));
        if (!released) {
            kept.push_back(released.error().on(stored.key.device()));
        } else if (!*released) {
            kept.push_back(Error(ErrorCode::busy,
                                 fmt::format("{} is being worked on by somebody else just now",
                                             stored.key.device()))
                               .on(stored.key.device())
                               .held_by(domain.to_string()));
        }
    }
    return kept;
}

} // namespace vgpu
