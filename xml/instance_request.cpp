#include "xml/instance_request.hpp"

#include "xml/json_fields.hpp"

#include <fmt/format.h>

#include <utility>
#include <vector>

namespace vgpu::xml {

namespace {

using nlohmann::json;

void read_disk(JsonFields& fields, InstanceDisk& disk) {
    fields.text("path", disk.path);
    fields.text("format", disk.format);
    fields.text("bus", disk.bus);
    fields.flag("readonly", disk.readonly);
    std::string device = "disk";
    fields.text("device", device);
    disk.cdrom = device == "cdrom";
    if (!disk.cdrom && device != "disk") {
        fields.refuse("device",
                      fmt::format("\"{}\" is not one of: disk, cdrom", printable(device, 40)));
    }
    fields.number("boot_order", disk.boot_order);
}

void read_network(JsonFields& fields, InstanceNetwork& card) {
    fields.text("network", card.network);
    fields.text("bridge", card.bridge);
    fields.text("mac", card.mac);
    fields.text("model", card.model);
    fields.number("boot_order", card.boot_order);
}

void read_gpu(JsonFields& fields, InstanceGpu& gpu, std::size_t index) {
    gpu.name = fmt::format("vgpu{}", index);
    fields.text("name", gpu.name);
    fields.text("profile", gpu.profile);
    fields.parsed("gpu", gpu.gpu, PciAddress::parse);
    fields.text("params", gpu.params);
    fields.flag("display", gpu.display);
    fields.number("numa_node", gpu.numa_node);
}

void read_devices(JsonFields& fields, InstanceRequest& request) {
    fields.list("disks", max_instance_disks, [&](JsonFields& disk, std::size_t) {
        read_disk(disk, request.disks.emplace_back());
    });
    fields.list("networks", max_instance_networks, [&](JsonFields& card, std::size_t) {
        read_network(card, request.networks.emplace_back());
    });
    fields.list("gpus", max_instance_gpus, [&](JsonFields& gpu, std::size_t index) {
        read_gpu(gpu, request.gpus.emplace_back(), index);
    });
    fields.object("numa", [&](JsonFields& numa) {
        numa.text("nodeset", request.numa.nodeset);
        numa.text("mode", request.numa.mode);
        numa.text("cpuset", request.numa.cpuset);
    });
}

/// The fields that are plain text, for reading and for writing.
struct TextField {
    const char* key;
    std::string InstanceRequest::* member;
};

constexpr TextField text_fields[] = {
    {"name", &InstanceRequest::name},
    {"title", &InstanceRequest::title},
    {"description", &InstanceRequest::description},
    {"virt_type", &InstanceRequest::virt_type},
    {"arch", &InstanceRequest::arch},
    {"machine", &InstanceRequest::machine},
    {"cpu", &InstanceRequest::cpu},
    {"firmware", &InstanceRequest::firmware},
    {"graphics", &InstanceRequest::graphics},
    {"cloud_init_iso", &InstanceRequest::cloud_init_iso},
    {"kernel", &InstanceRequest::kernel},
    {"initrd", &InstanceRequest::initrd},
    {"cmdline", &InstanceRequest::cmdline},
    {"base_xml", &InstanceRequest::base_xml},
    {"policy", &InstanceRequest::policy},
};

void put(json& object, const char* key, const std::string& value) {
    if (!value.empty()) {
        object[key] = value;
    }
}

template <typename Number>
void put(json& object, const char* key, const std::optional<Number>& value) {
    if (value) {
        object[key] = *value;
    }
}

void put_flag(json& object, const char* key, bool value, bool otherwise) {
    if (value != otherwise) {
        object[key] = value;
    }
}

void put_list(json& object, const char* key, json list) {
    if (!list.empty()) {
        object[key] = std::move(list);
    }
}

json to_json(const InstanceDisk& disk) {
    json object = json::object();
    put(object, "path", disk.path);
    put(object, "format", disk.format);
    put(object, "bus", disk.bus);
    put_flag(object, "readonly", disk.readonly, false);
    put(object, "device", disk.cdrom ? "cdrom" : "");
    put(object, "boot_order", disk.boot_order);
    return object;
}

json to_json(const InstanceNetwork& card) {
    json object = json::object();
    put(object, "network", card.network);
    put(object, "bridge", card.bridge);
    put(object, "mac", card.mac);
    put(object, "model", card.model);
    put(object, "boot_order", card.boot_order);
    return object;
}

json to_json(const InstanceNuma& numa) {
    json object = json::object();
    put(object, "nodeset", numa.nodeset);
    put(object, "mode", numa.mode);
    put(object, "cpuset", numa.cpuset);
    return object;
}

json to_json(const InstanceGpu& gpu) {
    json object = json::object();
    put(object, "name", gpu.name);
    put(object, "profile", gpu.profile);
    put(object, "gpu", gpu.gpu ? gpu.gpu->to_string() : "");
    put(object, "params", gpu.params);
    put_flag(object, "display", gpu.display, false);
    put(object, "numa_node", gpu.numa_node);
    return object;
}

template <typename T>
json list_of(const std::vector<T>& values) {
    json list = json::array();
    for (const T& value : values) {
        list.push_back(to_json(value));
    }
    return list;
}

} // namespace

Result<InstanceRequest> parse_instance_request(const json& value) {
    InstanceRequest request;
    std::optional<Error> first;
    JsonFields fields(value, "", first);
    for (const TextField& field : text_fields) {
        fields.text(field.key, request.*field.member);
    }
    fields.parsed("uuid", request.uuid, Uuid::parse);
    fields.number("vcpus", request.vcpus);
    fields.number("memory_mib", request.memory_mib);
    read_devices(fields, request);
    fields.flag("console", request.console);
    fields.flag("start", request.start);
    fields.flag("distinct_gpus", request.distinct_gpus);
    // "none" is how people say it, and the same as saying nothing.
    if (request.graphics == "none") {
        request.graphics.clear();
    }
    fields.finish();
    if (first) {
        return fail(*std::move(first));
    }
    VGPU_TRY(check_instance_request(request));
    return request;
}

json to_json(const InstanceRequest& request) {
    json object = json::object();
    for (const TextField& field : text_fields) {
        put(object, field.key, request.*field.member);
    }
    put(object, "uuid", request.uuid ? request.uuid->to_string() : "");
    if (request.vcpus != 0) {
        object["vcpus"] = request.vcpus;
    }
    if (request.memory_mib != 0) {
        object["memory_mib"] = request.memory_mib;
    }
    put_list(object, "disks", list_of(request.disks));
    put_list(object, "networks", list_of(request.networks));
    put_list(object, "gpus", list_of(request.gpus));
    put_list(object, "numa", to_json(request.numa));
    put_flag(object, "console", request.console, true);
    put_flag(object, "start", request.start, false);
    put_flag(object, "distinct_gpus", request.distinct_gpus, false);
    return object;
}

} // namespace vgpu::xml
