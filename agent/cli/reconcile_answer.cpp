#include "agent/cli/reconcile_answer.hpp"

#include <algorithm>
#include <utility>

namespace vgpu::cli {

namespace {

constexpr std::size_t longest_text = 1000;

Stage stage_of(const std::string& name) {
    const auto* const found =
        std::find_if(all_stages.begin(), all_stages.end(),
                     [&name](Stage stage) { return to_string(stage) == name; });
    return found == all_stages.end() ? Stage::release : *found;
}

Action action_of(const Json& json) {
    Action action;
    action.stage = stage_of(text_member(json, "stage"));
    action.text = printable(text_member(json, "text"), longest_text);
    if (const auto device = DeviceKey::parse_device(text_member(json, "device"))) {
        action.device = *device;
    }
    const Json& domain = member(json, "domain");
    action.domain_name = printable(text_member(domain, "name"));
    if (const auto uuid = Uuid::parse(text_member(domain, "uuid"))) {
        action.domain_uuid = *uuid;
    }
    const std::string error = text_member(json, "error");
    if (!error.empty()) {
        action.error = Error(ErrorCode::io, error);
    }
    return action;
}

} // namespace

ReconcileReport report_of(const Json& json) {
    ReconcileReport report;
    report.dry_run = flag_member(json, "dry_run");
    for (const Json& action : list_member(json, "actions")) {
        report.actions.push_back(action_of(action));
    }
    for (const Json& problem : list_member(json, "problems")) {
        if (problem.is_string()) {
            report.problems.push_back(problem.get<std::string>());
        }
    }
    return report;
}

} // namespace vgpu::cli
