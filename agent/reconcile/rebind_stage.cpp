#include "agent/core/availability.hpp"
#include "agent/core/profile_name.hpp"
#include "agent/reconcile/pass.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace vgpu {

namespace {

/// What is known of the devices while shut-off domains are gone through.
struct Book {
    std::map<DeviceKey, const DeviceInfo*> rows;
    std::map<DeviceKey, Uuid> keeper; ///< of the domains that name a device, the one that keeps it
    std::optional<HypervisorFacts> facts;
};

void name_devices(Book& book, const KnownDomain& domain) {
    for (const auto* view : {&domain.live, &domain.persistent}) {
        if (!*view) {
            continue;
        }
        for (const xml::Hostdev& hostdev : (*view)->hostdevs) {
            if (const auto key = key_of(hostdev)) {
                book.keeper.emplace(*key, domain.info.uuid);
            }
        }
    }
}

Book open_book(const Pass& pass) {
    Book book;
    for (const DeviceInfo& row : pass.inventory.devices) {
        book.rows.emplace(row.key(), &row);
    }
    for (const StoredClaim& stored : pass.inventory.claims) {
        if (stored.claim) {
            book.keeper.emplace(stored.key, stored.claim->domain_uuid);
        }
    }
    for (const bool active : {true, false}) {
        for (const KnownDomain& domain : *pass.domains) {
            if (domain.info.active == active) {
                name_devices(book, domain);
            }
        }
    }
    return book;
}

bool offers(const DeviceInfo& row, const std::string& profile) {
    return std::any_of(row.offers.begin(), row.offers.end(), [&](const OfferedType& offered) {
        return offered.instances > 0 && find_type(profile, {offered.type}).has_value();
    });
}

/// Whether a start would find the device free now, as far as one look can tell.
bool is_good(const Book& book, const KnownDomain& domain, const xml::VgpuRequest& request) {
    const xml::Hostdev* hostdev = domain.persistent->hostdev_of(request);
    const auto key = hostdev != nullptr ? key_of(*hostdev) : std::nullopt;
    if (!key || hostdev->managed) {
        return false;
    }
    const auto row = book.rows.find(*key);
    if (row == book.rows.end()) {
        return key->is_mdev(); // made at start
    }
    const DeviceInfo& info = *row->second;
    const bool own = info.claim && info.claim->claim && info.claim->claim->managed &&
                     info.claim->claim->domain_uuid == domain.info.uuid;
    return own || (is_clean(info) && offers(info, request.profile));
}

/// Nothing to do for a domain whose devices are good and its own, without a plan being made: the
/// usual case, so that a pass costs a look-up for each device.
bool needs_plan(const Book& book, const KnownDomain& domain) {
    if (domain.info.active || !domain.info.persistent || domain.info.has_saved_state ||
        !domain.persistent || domain.persistent->requests.empty()) {
        return false; // a saved state brings back the definition of then, whatever is written now
    }
    if (domain.persistent->is_copy()) {
        return true;
    }
    return std::any_of(domain.persistent->requests.begin(), domain.persistent->requests.end(),
                       [&](const xml::VgpuRequest& request) {
                           if (!is_good(book, domain, request)) {
                               return true;
                           }
                           const auto key = key_of(*domain.persistent->hostdev_of(request));
                           return book.keeper.at(*key) != domain.info.uuid;
                       });
}

std::vector<NamedDevice> named_by_others(const Pass& pass, const Uuid& own) {
    std::vector<NamedDevice> named;
    for (const KnownDomain& domain : *pass.domains) {
        if (domain.info.uuid == own) {
            continue;
        }
        for (const auto* view : {&domain.persistent, &domain.live}) {
            if (!*view) {
                continue;
            }
            for (const xml::Hostdev& hostdev : (*view)->hostdevs) {
                if (const auto key = key_of(hostdev)) {
                    NamedDevice device{*key, domain.info.name, ""};
                    for (const xml::VgpuRequest& request : (*view)->requests) {
                        if ((*view)->hostdev_of(request) == &hostdev) {
                            device.profile = request.profile;
                        }
                    }
                    named.push_back(std::move(device));
                }
            }
        }
    }
    return named;
}

/// A device that another domain has as well is only better than one that cannot be had now.
bool is_worth_writing(const Book& book, const KnownDomain& domain,
                      const std::vector<PlannedDevice>& plan) {
    if (domain.persistent->is_copy()) {
        return true;
    }
    return std::any_of(plan.begin(), plan.end(), [&](const PlannedDevice& planned) {
        return !planned.kept &&
               (planned.warning.empty() || !is_good(book, domain, planned.assignment.request));
    });
}

std::string devices_text(const std::vector<PlannedDevice>& plan) {
    std::string text;
    for (const PlannedDevice& planned : plan) {
        text += fmt::format("{}{} on {}", text.empty() ? "" : ", ", planned.assignment.request.name,
                            planned.assignment.device.device());
    }
    return text;
}

/// What the definition says now, which is what is written over.
Result<std::optional<Definition>> definition_now(Pass& pass, const KnownDomain& domain) {
    VGPU_TRY_ASSIGN(Definition definition,
                    definition_of(*pass.input.hypervisor, domain.info.uuid.to_string()));
    if (definition.info.active || definition.view.requests.empty()) {
        return std::optional<Definition>();
    }
    return std::optional(std::move(definition));
}

/// Null: nothing was to be done. Else what was planned and, unless in a dry run, written.
Result<std::optional<std::vector<PlannedDevice>>> plan_and_write(Pass& pass, Book& book,
                                                                 KnownDomain& domain) {
    using Plan = std::optional<std::vector<PlannedDevice>>;
    VGPU_TRY_ASSIGN(const auto definition, definition_now(pass, domain));
    if (!definition) {
        return Plan();
    }
    domain.persistent = definition->view;
    if (!book.facts) {
        VGPU_TRY_ASSIGN(book.facts, pass.input.hypervisor->facts());
    }
    const auto elsewhere = named_by_others(pass, domain.info.uuid);
    const PlanInput input{pass.inventory, *book.facts, elsewhere, definition->view};
    VGPU_TRY_ASSIGN(auto plan, plan_assignments(input, definition->view.requests));
    if (!is_worth_writing(book, domain, plan)) {
        return Plan();
    }
    if (!pass.input.dry_run) {
        VGPU_TRY_ASSIGN(const bool written, write_plan(*pass.input.hypervisor, *definition, plan));
        if (!written) {
            return Plan();
        }
        VGPU_TRY_ASSIGN(const Definition after,
                        definition_of(*pass.input.hypervisor, domain.info.uuid.to_string()));
        domain.persistent = after.view;
    }
    return Plan(std::move(plan));
}

void rebind_domain(Pass& pass, Book& book, KnownDomain& domain) {
    const auto guard = pass.input.guard(domain.info.uuid);
    if (!guard) {
        return;
    }
    constexpr std::chrono::seconds patience(2);
    const auto lock =
        lock_assignments(pass.input.change.config().paths, pass.input.deadline.within(patience));
    if (!lock) {
        pass.report.problems.push_back(lock.error().text());
        return;
    }
    const std::string name = printable(domain.info.name);
    const auto plan = plan_and_write(pass, book, domain);
    if (!plan && (plan.error().code() == ErrorCode::unavailable ||
                  plan.error().code() == ErrorCode::not_found)) {
        pass.report.problems.push_back(
            fmt::format("domain {} could not start now: {}", name, plan.error().text()));
    } else if (!plan) {
        pass.add(Stage::rebind, fmt::format("point domain {} at a device that is free", name),
                 std::nullopt, domain.info.name, domain.info.uuid, plan.error());
    } else if (*plan) {
        pass.add(Stage::rebind, fmt::format("point domain {} at {}", name, devices_text(**plan)),
                 std::nullopt, domain.info.name, domain.info.uuid);
        name_devices(book, domain);
    }
}

} // namespace

void rebind_stage(Pass& pass) {
    if (!pass.domains) {
        return;
    }
    Book book = open_book(pass);
    for (KnownDomain& domain : *pass.domains) {
        if (pass.out_of_time()) {
            return;
        }
        if (needs_plan(book, domain)) {
            rebind_domain(pass, book, domain);
        }
    }
}

} // namespace vgpu
