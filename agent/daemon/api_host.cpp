#include "agent/core/availability.hpp"
#include "agent/core/host_session.hpp"
#include "agent/core/inventory_json.hpp"
#include "agent/daemon/api.hpp"
#include "agent/daemon/host_look.hpp"
#include "agent/daemon/shared_answer.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace vgpu {

namespace {

using http::Reply;
using http::Request;
using http::Response;
using Json = nlohmann::ordered_json;

Response inventory_response(const ApiContext& context,
                            const std::function<std::string(const Inventory&)>& body) {
    const auto inventory = look_at_host(*context.site.get(), context.log.notes());
    return inventory ? json_response(body(*inventory)) : error_response(inventory.error());
}

Response claims_response(const ApiContext& context) {
    const ClaimStore store(context.site.get()->config.paths);
    const auto claims = store.list();
    return claims ? json_response(claims_json(*claims, store)) : error_response(claims.error());
}

Json profile_json(const VgpuType& type, std::uint32_t framebuffer_mib, std::uint32_t available) {
    return {{"profile", type.name},
            {"type_id", type.id},
            {"framebuffer_mib", framebuffer_mib},
            {"available", available}};
}

Json gpu_resources(const Inventory& inventory, const GpuInfo& gpu,
                   const std::vector<ProfileInfo>& profiles) {
    Json json;
    json["gpu"] = gpu.address.to_string();
    json["name"] = gpu.name;
    json["numa_node"] = gpu.numa_node;
    json["framework"] = gpu.framework ? Json(to_string(*gpu.framework)) : Json(nullptr);
    json["framebuffer_mib"] = gpu.framebuffer_mib;
    json["framebuffer_claimed_mib"] = claimed_framebuffer_mib(inventory, gpu, profiles);
    json["vfs"] = gpu.vfs;
    json["allocated"] = gpu.allocated;
    json["profiles"] = Json::array();
    for (const ProfileInfo& profile : profiles) {
        const auto offered = std::any_of(gpu.types.begin(), gpu.types.end(), [&](const auto& type) {
            return type.id == profile.type.id && type.name == profile.type.name;
        });
        if (offered) {
            json["profiles"].push_back(profile_json(profile.type, profile.framebuffer_mib,
                                                    available_on(inventory, gpu, profile.type)));
        }
    }
    return json;
}

/// What can still be had, GPU by GPU, as schedulers want it.
std::string resources_json(const Inventory& inventory) {
    const auto profiles = profiles_of(inventory);
    Json json;
    json["gpus"] = Json::array();
    for (const GpuInfo& gpu : inventory.gpus) {
        if (gpu.managed) {
            json["gpus"].push_back(gpu_resources(inventory, gpu, profiles));
        }
    }
    json["profiles"] = Json::array();
    for (const ProfileInfo& profile : profiles) {
        json["profiles"].push_back(
            profile_json(profile.type, profile.framebuffer_mib, profile.available));
    }
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace

void add_host_routes(http::Router& router, ApiContext& context) {
    const auto add = [&](const char* path, std::function<Response()> make) {
        const auto answer = SharedAnswer::create(context.queues.host, std::move(make));
        router.add("GET", path,
                   [answer](const Request&, Reply reply) { answer->ask(std::move(reply)); });
    };
    add("/v1/gpus", [&context] { return inventory_response(context, gpus_json); });
    add("/v1/devices", [&context] { return inventory_response(context, devices_json); });
    add("/v1/profiles", [&context] {
        return inventory_response(context, [](const Inventory& inventory) {
            return profiles_json(profiles_of(inventory));
        });
    });
    add("/v1/resources", [&context] { return inventory_response(context, resources_json); });
    add("/v1/claims", [&context] { return claims_response(context); });
}

} // namespace vgpu
