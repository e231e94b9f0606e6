#include "agent/reconcile/reconciler.hpp"

#include "agent/reconcile/pass.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace vgpu {

namespace {

std::optional<xml::DomainView> view_of(const DomainInfo& info, const std::string& text,
                                       std::vector<std::string>& problems) {
    if (text.empty()) {
        return std::nullopt;
    }
    // Most domains of a host have nothing to do with us; reading their XML is the larger cost.
    if (!xml::may_concern_us(text)) {
        xml::DomainView view;
        view.uuid = info.uuid;
        view.name = info.name;
        return view;
    }
    auto view = xml::read_domain(text);
    if (!view) {
        problems.push_back(
            fmt::format("the XML of domain {}: {}", printable(info.name), view.error().text()));
        return std::nullopt;
    }
    return std::move(*view);
}

void go_on_without_libvirt(ReconcileReport& report, const std::string& trouble) {
    report.libvirt_trouble = trouble;
    report.problems.push_back(trouble + ": only what needs no word of libvirt is done");
}

void list_domains(Pass& pass) {
    if (pass.input.hypervisor == nullptr) {
        go_on_without_libvirt(pass.report, pass.input.unreachable);
        return;
    }
    auto listed = pass.input.hypervisor->domains();
    if (!listed) {
        go_on_without_libvirt(pass.report, listed.error().text());
        return;
    }
    pass.domains.emplace();
    for (DomainInfo& info : *listed) {
        if (!info.error.empty()) {
            pass.report.problems.push_back(
                fmt::format("domain {}: {}", printable(info.name), info.error));
        }
        KnownDomain domain;
        domain.persistent = view_of(info, info.xml, pass.report.problems);
        domain.live = view_of(info, info.live_xml, pass.report.problems);
        domain.info = std::move(info);
        pass.domains->push_back(std::move(domain));
    }
    std::sort(pass.domains->begin(), pass.domains->end(),
              [](const KnownDomain& a, const KnownDomain& b) { return a.info.uuid < b.info.uuid; });
}

} // namespace

const KnownDomain* Pass::domain(const Uuid& uuid) const {
    if (!domains) {
        return nullptr;
    }
    const auto found =
        std::lower_bound(domains->begin(), domains->end(), uuid,
                         [](const KnownDomain& a, const Uuid& b) { return a.info.uuid < b; });
    return found != domains->end() && found->info.uuid == uuid ? &*found : nullptr;
}

void Pass::add(Stage stage, std::string text, const std::optional<DeviceKey>& device,
               const std::string& domain_name, const std::optional<Uuid>& domain_uuid,
               std::optional<Error> error) {
    report.actions.push_back(
        {stage, std::move(text), device, domain_name, domain_uuid, std::move(error)});
}

Result<ReconcileReport> reconcile(ReconcileInput input) {
    Pass pass{input, {}, {}, std::nullopt};
    pass.report.dry_run = input.dry_run;
    // The domains before the host: a domain that starts in between has a claim by the time the host
    // is looked at, and one that stops in between is asked about again before anything of it ends.
    list_domains(pass);
    VGPU_TRY_ASSIGN(pass.inventory, input.look.look());
    pass.report.problems.insert(pass.report.problems.end(), pass.inventory.problems.begin(),
                                pass.inventory.problems.end());
    release_stage(pass);
    adopt_stage(pass);
    repair_stage(pass);
    if (pass.report.changed()) {
        VGPU_TRY_ASSIGN(pass.inventory, input.look.look());
    }
    if (input.rebind) {
        rebind_stage(pass);
    }
    if (pass.out_of_time()) {
        pass.report.problems.emplace_back(
            "the time of the pass was over before everything had been looked at");
    }
    return std::move(pass.report);
}

} // namespace vgpu
