#include "agent/core/inventory_json.hpp"

#include <nlohmann/json.hpp>

#include <utility>

namespace vgpu {

namespace {

using Json = nlohmann::ordered_json;

std::string written(const Json& json) {
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json text_or_null(const std::string& text) {
    return text.empty() ? Json(nullptr) : Json(text);
}

Json framework_of(const std::optional<FrameworkKind>& framework) {
    return framework ? Json(to_string(*framework)) : Json(nullptr);
}

Json claim_of(const StoredClaim& stored) {
    if (!stored.claim) {
        return {{"key", stored.key.to_string()}, {"error", stored.claim.error().text()}};
    }
    Json json = Json::parse(to_json(*stored.claim), nullptr, false);
    json["key"] = stored.key.to_string();
    return json;
}

Json device_of(const DeviceInfo& row) {
    Json json;
    json["device"] = row.function.to_string();
    json["gpu"] = row.gpu.to_string();
    json["framework"] = framework_of(row.framework);
    json["mdev_uuid"] = row.mdev ? Json(row.mdev->to_string()) : Json(nullptr);
    json["type_id"] = row.type_id ? Json(*row.type_id) : Json(nullptr);
    json["profile"] = text_or_null(row.profile);
    json["allocated"] = row.allocated();
    json["dirty"] = row.dirty();
    json["foreign"] = row.foreign();
    json["managed"] = row.managed;
    json["in_use"] = row.in_use ? Json(*row.in_use) : Json(nullptr);
    json["holder"] =
        row.holder ? Json{{"pid", row.holder->pid}, {"name", row.holder->name}} : Json(nullptr);
    json["numa_node"] = row.numa_node;
    json["driver"] = text_or_null(row.driver);
    json["iommu_group"] = text_or_null(row.iommu_group());
    json["vfio_nodes"] = {{"group", text_or_null(row.nodes.group)},
                          {"cdev", text_or_null(row.cdev())}};
    json["claim"] = row.claim ? claim_of(*row.claim) : Json(nullptr);
    json["error"] = text_or_null(row.error);
    return json;
}

} // namespace

std::string gpus_json(const Inventory& inventory) {
    Json list = Json::array();
    for (const GpuInfo& gpu : inventory.gpus) {
        Json json;
        json["gpu"] = gpu.address.to_string();
        json["name"] = gpu.name;
        json["framework"] = framework_of(gpu.framework);
        json["reason"] = text_or_null(gpu.reason);
        json["driver"] = text_or_null(gpu.driver);
        json["vfs"] = gpu.vfs;
        json["total_vfs"] = gpu.total_vfs;
        json["allocated"] = gpu.allocated;
        json["framebuffer_mib"] = gpu.framebuffer_mib;
        json["numa_node"] = gpu.numa_node;
        json["managed"] = gpu.managed;
        json["model"] = text_or_null(gpu.model);
        list.push_back(std::move(json));
    }
    return written(list);
}

std::string devices_json(const Inventory& inventory) {
    Json list = Json::array();
    for (const DeviceInfo& row : inventory.devices) {
        list.push_back(device_of(row));
    }
    return written(list);
}

std::string profiles_json(const std::vector<ProfileInfo>& profiles) {
    Json list = Json::array();
    for (const ProfileInfo& profile : profiles) {
        list.push_back({{"profile", profile.type.name},
                        {"type_id", profile.type.id},
                        {"framebuffer_mib", profile.framebuffer_mib},
                        {"available", profile.available}});
    }
    return written(list);
}

std::string claims_json(const std::vector<StoredClaim>& claims, const ClaimStore& store) {
    Json list = Json::array();
    for (const StoredClaim& stored : claims) {
        Json json = claim_of(stored);
        if (!stored.claim) {
            json["file"] = store.path(stored.key);
        }
        list.push_back(std::move(json));
    }
    return written(list);
}

} // namespace vgpu
