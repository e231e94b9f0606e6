#include "agent/daemon/pass_maker.hpp"

#include "agent/reconcile/reconciler.hpp"

#include <chrono>
#include <ctime>
#include <utility>

namespace vgpu {

namespace {

using std::chrono::seconds;

/// A pass' whole time; a part of it for libvirt, which keeps a list waiting for each domain whose
/// hook runs.
constexpr seconds longest_pass(120);
constexpr seconds longest_libvirt(45);

Result<ReconcileReport> one_pass(Site& site, InstanceLocks& locks, const Notes& note,
                                 bool dry_run) {
    const Deadline deadline = Deadline::in(longest_pass);
    VGPU_TRY_ASSIGN(const auto look,
                    HostSession::open(site.config, HostSession::Purpose::look, longest_pass, note));
    VGPU_TRY_ASSIGN(const auto change, HostSession::open(site.config, HostSession::Purpose::change,
                                                         longest_pass, note));
    const auto hypervisor = site.connect(deadline.within(longest_libvirt));
    ReconcileInput input{
        *look,
        *change,
        hypervisor ? hypervisor->get() : nullptr,
        hypervisor ? "" : hypervisor.error().text(),
        [&locks](const Uuid& domain) { return locks.try_lock(domain.to_string()); },
        dry_run,
        site.config.libvirt.rebind,
        deadline};
    return reconcile(std::move(input));
}

} // namespace

void PassMaker::tell(const ReconcileReport& report) {
    std::set<std::string> now;
    const auto once = [&](const Log::Record& record) {
        now.insert(record.text);
        if (!said_.contains(record.text)) {
            log_.write(record);
        }
    };
    for (const Action& action : report.actions) {
        Log::Record record{NoteLevel::info, action.text,
                           action.device ? action.device->device() : "", action.domain_name,
                           action.domain_uuid ? action.domain_uuid->to_string() : ""};
        if (action.error) {
            record.level = NoteLevel::warning;
            record.text += ": " + action.error->text();
            once(record);
        } else {
            log_.write(record);
        }
    }
    for (const std::string& problem : report.problems) {
        once({NoteLevel::warning, problem, "", "", ""});
    }
    said_ = std::move(now);
    if (!report.actions.empty()) {
        events_.publish({"reconcile", report_line(report)});
    }
}

void PassMaker::count(const Result<ReconcileReport>& report, std::chrono::milliseconds duration) {
    status_.update([&](Status::View& view) {
        ++view.passes;
        view.last_pass = duration;
        view.last_pass_ended = std::time(nullptr);
        view.last_pass_ended_at = utc_now();
        view.last_pass_error = report ? "" : report.error().text();
        if (!report) {
            ++view.failed_passes;
            return;
        }
        view.libvirt_answers = report->libvirt_trouble;
        for (const Action& action : report->actions) {
            const auto stage = static_cast<std::size_t>(action.stage);
            ++(action.error ? view.failures : view.actions)[stage];
        }
    });
}

Result<ReconcileReport> PassMaker::make(bool dry_run) {
    const auto began = std::chrono::steady_clock::now();
    auto report = one_pass(*site_.get(), locks_, log_.notes(), dry_run);
    if (dry_run) {
        return report;
    }
    count(report, std::chrono::duration_cast<std::chrono::milliseconds>(
                      std::chrono::steady_clock::now() - began));
    if (report) {
        tell(*report);
    } else if (said_.insert(report.error().text()).second) {
        log_.error("reconcile: " + report.error().text());
    }
    return report;
}

} // namespace vgpu
