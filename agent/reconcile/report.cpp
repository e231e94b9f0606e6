#include "agent/reconcile/report.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace vgpu {

std::string_view to_string(Stage stage) {
    switch (stage) {
    case Stage::release:
        return "release";
    case Stage::adopt:
        return "adopt";
    case Stage::repair:
        return "repair";
    case Stage::rebind:
        break;
    }
    return "rebind";
}

std::size_t ReconcileReport::failures() const {
    return static_cast<std::size_t>(
        std::count_if(actions.begin(), actions.end(),
                      [](const Action& action) { return action.error.has_value(); }));
}

bool ReconcileReport::changed() const {
    return !dry_run && failures() < actions.size();
}

std::string report_text(const ReconcileReport& report) {
    std::string text;
    for (const Action& action : report.actions) {
        if (action.error) {
            text += fmt::format("{}: not done: {}: {}\n", to_string(action.stage), action.text,
                                action.error->text());
        } else {
            text += fmt::format("{}: {}{}\n", to_string(action.stage),
                                report.dry_run ? "would " : "", action.text);
        }
    }
    for (const std::string& problem : report.problems) {
        text += fmt::format("note: {}\n", printable(problem, 1000));
    }
    return text.empty() ? "Nothing to do.\n" : text;
}

namespace {

using Json = nlohmann::ordered_json;

Json to_json(const ReconcileReport& report) {
    Json json;
    json["dry_run"] = report.dry_run;
    json["actions"] = Json::array();
    for (const Action& action : report.actions) {
        Json entry;
        entry["stage"] = to_string(action.stage);
        entry["text"] = action.text;
        entry["device"] = action.device ? Json(action.device->device()) : Json(nullptr);
        entry["domain"] = action.domain_uuid ? Json{{"uuid", action.domain_uuid->to_string()},
                                                    {"name", action.domain_name}}
                                             : Json(nullptr);
        entry["error"] = action.error ? Json(action.error->text()) : Json(nullptr);
        json["actions"].push_back(std::move(entry));
    }
    json["problems"] = report.problems;
    return json;
}

} // namespace

std::string report_json(const ReconcileReport& report) {
    return to_json(report).dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string report_line(const ReconcileReport& report) {
    return to_json(report).dump(-1, ' ', false, Json::error_handler_t::replace);
}

} // namespace vgpu
