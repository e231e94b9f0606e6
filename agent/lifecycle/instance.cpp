#include "agent/lifecycle/instance.hpp"

#include "agent/assignment/assignment_plan.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace vgpu {

namespace {

using Json = nlohmann::ordered_json;

void add_device(InstanceGpuState& gpu, const DeviceKey& key, const std::string& sysfs) {
    if (key.is_mdev()) {
        gpu.framework = FrameworkKind::mdev;
        gpu.mdev_uuid = key.mdev();
        gpu.device_path = sysfs + "/bus/mdev/devices/" + key.device();
    } else {
        gpu.framework = FrameworkKind::vendor_vfio;
        gpu.device_path = sysfs + "/bus/pci/devices/" + key.device();
    }
}

Json gpu_json(const InstanceGpuState& gpu) {
    Json json;
    json["name"] = gpu.name;
    json["profile"] = gpu.profile;
    json["framework"] = gpu.framework ? Json(to_string(*gpu.framework)) : Json(nullptr);
    json["device_path"] = gpu.device_path.empty() ? Json(nullptr) : Json(gpu.device_path);
    json["mdev_uuid"] = gpu.mdev_uuid ? Json(gpu.mdev_uuid->to_string()) : Json(nullptr);
    json["gpu"] = gpu.gpu ? Json(gpu.gpu->to_string()) : Json(nullptr);
    json["claim"] = gpu.claim ? Json(to_string(*gpu.claim)) : Json(nullptr);
    return json;
}

Json to_json(const InstanceState& instance) {
    Json json;
    json["uuid"] = instance.uuid.to_string();
    json["name"] = instance.name;
    json["state"] = instance.state;
    json["persistent"] = instance.persistent;
    json["gpus"] = Json::array();
    for (const InstanceGpuState& gpu : instance.gpus) {
        json["gpus"].push_back(gpu_json(gpu));
    }
    if (!instance.warnings.empty()) {
        json["warnings"] = instance.warnings;
    }
    return json;
}

std::string text_of(const Json& json) {
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace

Result<InstanceState> instance_state(const DomainInfo& info, const std::vector<Claim>& claims,
                                     const std::string& sysfs) {
    InstanceState instance;
    instance.uuid = info.uuid;
    instance.name = info.name;
    instance.state = info.state;
    instance.persistent = info.persistent;
    auto view = xml::read_domain(info.live_xml.empty() ? info.xml : info.live_xml);
    if (!view) {
        return fail(view.error().in("the XML of domain " + printable(info.name)));
    }
    for (const xml::VgpuRequest& request : view->requests) {
        InstanceGpuState gpu;
        gpu.name = request.name;
        gpu.profile = request.profile;
        const xml::Hostdev* hostdev = view->hostdev_of(request);
        if (const auto key = hostdev != nullptr ? key_of(*hostdev) : std::nullopt) {
            add_device(gpu, *key, sysfs);
        }
        const auto claim = std::find_if(claims.begin(), claims.end(), [&](const Claim& c) {
            return c.domain_uuid == info.uuid && c.device == request.name;
        });
        if (claim != claims.end()) {
            gpu.profile = claim->profile;
            gpu.framework = claim->framework;
            gpu.device_path = claim->device_path;
            gpu.mdev_uuid = claim->mdev_uuid;
            gpu.gpu = claim->gpu;
            gpu.claim = claim->state;
        }
        instance.gpus.push_back(std::move(gpu));
    }
    return instance;
}

std::string instance_json(const InstanceState& instance) {
    return text_of(to_json(instance));
}

std::string instances_json(const std::vector<InstanceState>& instances) {
    Json list = Json::array();
    for (const InstanceState& instance : instances) {
        list.push_back(to_json(instance));
    }
    return text_of(list);
}

} // namespace vgpu
