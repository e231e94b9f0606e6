#include "agent/cli/assign_report.hpp"

#include "agent/cli/table.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <utility>

namespace vgpu::cli {

namespace {

using Json = nlohmann::ordered_json;

std::string place_text(const PlannedDevice& planned) {
    return planned.framework == FrameworkKind::mdev
               ? "an mdev that is made at start on the best parent"
               : fmt::format("a VF of GPU {}", planned.gpu ? planned.gpu->to_string() : "?");
}

Json device_json(const PlannedDevice& planned) {
    const xml::VgpuRequest& request = planned.assignment.request;
    const DeviceKey& key = planned.assignment.device;
    Json json;
    json["name"] = request.name;
    json["profile"] = request.profile;
    json["framework"] = to_string(planned.framework);
    json["device"] = key.device();
    json["mdev_uuid"] = key.is_mdev() ? Json(key.mdev().to_string()) : Json(nullptr);
    json["gpu"] = planned.gpu ? Json(planned.gpu->to_string()) : Json(nullptr);
    json["params"] = request.params.empty() ? Json(nullptr) : Json(request.params);
    json["kept"] = planned.kept;
    return json;
}

} // namespace

std::string change_text(const DomainChange& change) {
    const std::string domain = cell_text(change.name);
    std::string text;
    for (const PlannedDevice& planned : change.devices) {
        text += fmt::format("{}: {} is {} on {}, {}{}\n", domain, planned.assignment.request.name,
                            cell_text(planned.assignment.request.profile),
                            planned.assignment.device.device(), place_text(planned),
                            planned.kept ? " (kept)" : "");
    }
    for (const std::string& name : change.removed) {
        text += fmt::format("{}: {} and its device are removed\n", domain, cell_text(name));
    }
    if (!change.changed) {
        text += "The definition was as it should be: nothing was written.\n";
    } else if (change.running) {
        text += "The domain is running: this takes effect at its next start.\n";
    }
    return text;
}

std::string change_json(const DomainChange& change) {
    Json json;
    json["domain"] = {{"uuid", change.uuid.to_string()}, {"name", change.name}};
    json["running"] = change.running;
    json["changed"] = change.changed;
    json["devices"] = Json::array();
    for (const PlannedDevice& planned : change.devices) {
        json["devices"].push_back(device_json(planned));
    }
    json["removed"] = change.removed;
    json["warnings"] = change.warnings;
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace vgpu::cli
