#include "agent/cli/event_text.hpp"

#include "agent/cli/json_view.hpp"
#include "agent/cli/operation_text.hpp"
#include "agent/cli/reconcile_answer.hpp"
#include "agent/cli/table.hpp"

#include <fmt/format.h>

namespace vgpu::cli {

namespace {

std::string log_text(const Json& data) {
    const std::string level = text_member(data, "level");
    return (level == "info" ? "" : level + ": ") + text_member(data, "text");
}

std::string libvirt_text(const Json& data) {
    if (member(data, "up").is_boolean()) {
        return flag_member(data, "up") ? "connected" : text_member(data, "trouble");
    }
    return "domain " + text_member(data, "domain") + " has changed";
}

/// A pass in one line; `virt-vgpu events --json` has it whole.
std::string reconcile_text(const Json& data) {
    const ReconcileReport report = report_of(data);
    std::string text = report.dry_run ? "dry run" : "";
    for (const Action& action : report.actions) {
        text += fmt::format("{}{}: {}{}", text.empty() ? "" : "; ", to_string(action.stage),
                            action.text, action.error ? ": not done: " + action.error->text() : "");
    }
    return text;
}

std::string text_of(const http::ReceivedEvent& event) {
    const auto data = parse_answer(event.data);
    if (event.name == "resync") {
        return "events in between are lost";
    }
    if (!data || !data->is_object()) {
        return event.data;
    }
    if (event.name == "log") {
        return log_text(*data);
    }
    if (event.name == "operation") {
        return operation_summary(*data);
    }
    if (event.name == "libvirt") {
        return libvirt_text(*data);
    }
    return event.name == "reconcile" ? reconcile_text(*data) : event.data;
}

} // namespace

std::string event_text(const http::ReceivedEvent& event) {
    return fmt::format("{:9}  {}\n", cell_text(event.name), cell_text(text_of(event)));
}

std::string event_json(const http::ReceivedEvent& event) {
    const auto data = parse_answer(event.data);
    return written_line(
        Json{{"id", event.id}, {"event", event.name}, {"data", data ? *data : Json(event.data)}});
}

} // namespace vgpu::cli
