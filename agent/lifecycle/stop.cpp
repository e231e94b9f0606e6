#include "agent/core/suspects.hpp"
#include "agent/lifecycle/operation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

namespace vgpu {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// How long a guest's driver may take to initialise its vGPU; a SIGKILL in that time wedges the VF.
constexpr seconds initialising(60);

} // namespace

Result<bool> Lifecycle::Operation::wait_inactive(const std::string& uuid, Deadline until) {
    milliseconds pause(50);
    while (true) {
        const auto active = hypervisor_->active(uuid);
        if (!active && active.error().code() == ErrorCode::not_found) {
            return true; // a transient domain is gone with its VMM
        }
        if (!active) {
            return fail(active.error());
        }
        if (!*active || until.passed()) {
            return !*active;
        }
        std::this_thread::sleep_for(std::min(pause, until.remaining()));
        pause = std::min(pause * 2, milliseconds(500));
    }
}

void Lifecycle::Operation::mark_young_devices(const DomainInfo& info) {
    const auto claims = claims_of(info.uuid);
    if (!claims) {
        return;
    }
    for (const StoredClaim& stored : *claims) {
        const auto age = host().claims.age(stored.key);
        if (stored.key.is_mdev() || (age && *age > initialising)) {
            continue;
        }
        const auto why = fmt::format("the VMM of {} was killed within {} s of its start",
                                     named(info), initialising.count());
        const auto marked = mark_suspect(config().paths, stored.key, host().boot_id, why);
        host().note(NoteLevel::warning,
                    marked
                        ? fmt::format("{} is used last from now on: {}", stored.key.device(), why)
                        : marked.error().text(),
                    stored.key);
    }
}

Result<void> Lifecycle::Operation::end_vmm(const DomainInfo& info, const StopOptions& options) {
    const std::string uuid = info.uuid.to_string();
    hypervisor_->set_deadline(deadline_);
    if (!options.force) {
        const auto asked = hypervisor_->shutdown(uuid);
        if (!asked && asked.error().code() != ErrorCode::conflict) {
            warnings.push_back(asked.error().text());
        }
        VGPU_TRY_ASSIGN(const bool gone, wait_inactive(uuid, deadline_.within(options.guest_time)));
        if (gone) {
            return {};
        }
    }
    const auto ended = hypervisor_->destroy(uuid, Termination::graceful);
    if (ended || ended.error().code() == ErrorCode::not_found) {
        return {};
    }
    if (ended.error().code() == ErrorCode::timeout) {
        return fail(ended.error());
    }
    VGPU_TRY_ASSIGN(const bool gone, wait_inactive(uuid, Deadline::in(milliseconds(0))));
    if (gone) {
        return {};
    }
    host().note(
        NoteLevel::warning,
        fmt::format("{} did not end by SIGTERM ({}): SIGKILL", named(info), ended.error().text()),
        NoteSubject(info.uuid, info.name));
    mark_young_devices(info);
    return hypervisor_->destroy(uuid, Termination::forced);
}

Result<InstanceState> Lifecycle::stop(const std::string& id, const StopOptions& options,
                                      Deadline deadline) {
    VGPU_TRY_ASSIGN(const auto operation, Operation::open(*this, deadline));
    VGPU_TRY_ASSIGN(const DomainInfo info, operation->take(id));
    auto state = operation->state_of(info.uuid.to_string());
    if (info.active) {
        VGPU_TRY(operation->end_vmm(info, options));
    }
    VGPU_TRY_ASSIGN(const auto kept, operation->end_claims(info.uuid));
    for (const Error& error : kept) {
        operation->warnings.push_back(error.text());
        note_(NoteLevel::warning, named(info) + " is stopped, but " + error.text(),
              NoteSubject(info.uuid, info.name));
    }
    auto after = operation->state_of(info.uuid.to_string());
    if (after || after.error().code() != ErrorCode::not_found || !state) {
        return after;
    }
    state->state = "shut off"; // it was transient, and is gone
    state->warnings = operation->warnings;
    return state;
}

namespace {

/// A domain that is gone, but whose claims are not: deleted half way, or undefined by hand.
Result<std::optional<Uuid>> owner_of_claims(Host& host, const std::string& id) {
    VGPU_TRY_ASSIGN(const auto claims, host.claims.list());
    for (const StoredClaim& stored : claims) {
        if (stored.claim &&
            (stored.claim->domain_uuid.to_string() == id || stored.claim->domain_name == id)) {
            return std::optional(stored.claim->domain_uuid);
        }
    }
    return std::optional<Uuid>();
}

} // namespace

Result<void> Lifecycle::remove(const std::string& id, const StopOptions& options,
                               Deadline deadline) {
    VGPU_TRY_ASSIGN(const auto operation, Operation::open(*this, deadline));
    const auto info = operation->take(id);
    std::optional<Uuid> uuid;
    if (info) {
        uuid = info->uuid;
        if (info->active) {
            VGPU_TRY(operation->end_vmm(*info, options));
        }
    } else {
        if (info.error().code() != ErrorCode::not_found) {
            return fail(info.error());
        }
        VGPU_TRY_ASSIGN(uuid, owner_of_claims(operation->host(), id));
        if (!uuid) {
            return fail(info.error());
        }
        VGPU_TRY(operation->lock(uuid->to_string()));
        const auto active = operation->hypervisor().active(uuid->to_string());
        if (active || active.error().code() != ErrorCode::not_found) {
            return fail(ErrorCode::busy, "domain " + printable(id) + " has come back meanwhile");
        }
    }
    VGPU_TRY_ASSIGN(const auto kept, operation->end_claims(*uuid));
    if (!kept.empty()) {
        return fail(kept.front()
                        .in(fmt::format("domain {} is not deleted", printable(id)))
                        .hint("repeat the deletion when that is over"));
    }
    if (info && info->persistent) {
        VGPU_TRY(operation->hypervisor().undefine(uuid->to_string()));
    }
    return {};
}

} // namespace vgpu
