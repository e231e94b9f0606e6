#include "agent/cli/create_request.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <string_view>

namespace vgpu::cli {

namespace {

Error bad(const std::string& text, const std::string& why) {
    return Error(ErrorCode::invalid, fmt::format("\"{}\": {}", printable(text, 120), why));
}

Result<Json> value_of(const std::string& text, const std::string& key, const std::string& value) {
    if (key != "boot_order") {
        return Json(value);
    }
    std::uint32_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc() || end != value.data() + value.size()) {
        return fail(bad(text, "boot= wants a number"));
    }
    return Json(number);
}

/// A comma in a value is written twice, as in QEMU's options.
std::vector<std::string> split(std::string_view text) {
    std::vector<std::string> parts(1);
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool doubled = text[i] == ',' && i + 1 < text.size() && text[i + 1] == ',';
        if (text[i] == ',' && !doubled) {
            parts.emplace_back();
            continue;
        }
        parts.back() += text[i];
        i += doubled ? 1 : 0;
    }
    return parts;
}

/// `keys`: those that may follow.
Result<Json> named_parts(const std::string& text, const std::vector<std::string>& parts,
                         std::initializer_list<const char*> keys) {
    Json named = Json::object();
    for (const std::string& part : parts) {
        const std::size_t equals = part.find('=');
        const std::string word = part.substr(0, equals);
        const std::string key = word == "boot" ? "boot_order" : word;
        if (std::none_of(keys.begin(), keys.end(), [&](const char* k) { return key == k; })) {
            return fail(bad(text, fmt::format("\"{}\" is not known here", printable(part, 60))));
        }
        if (named.contains(key)) {
            return fail(bad(text, fmt::format("{} is there twice", word)));
        }
        const bool is_flag = key == "readonly";
        if (is_flag != (equals == std::string::npos)) {
            return fail(bad(text, is_flag ? "readonly takes no value" : word + "= needs a value"));
        }
        if (is_flag) {
            named[key] = true;
        } else {
            VGPU_TRY_ASSIGN(named[key], value_of(text, key, part.substr(equals + 1)));
        }
    }
    return named;
}

void put(Json& object, const char* key, const std::string& value) {
    if (!value.empty()) {
        object[key] = value;
    }
}

void put_flag(Json& object, const char* key, bool value) {
    if (value) {
        object[key] = true;
    }
}

void put_texts(Json& request, const CreateOptions& options) {
    put(request, "name", options.name);
    put(request, "uuid", options.uuid);
    put(request, "title", options.title);
    put(request, "description", options.description);
    put(request, "virt_type", options.virt_type);
    put(request, "arch", options.arch);
    put(request, "machine", options.machine);
    put(request, "cpu", options.cpu);
    put(request, "firmware", options.firmware);
    put(request, "graphics", options.graphics);
    put(request, "cloud_init_iso", options.cloud_init_iso);
    put(request, "kernel", options.kernel);
    put(request, "initrd", options.initrd);
    put(request, "cmdline", options.cmdline);
    put(request, "policy", options.policy);
    put(request, "base_xml", options.base_xml);
}

void put_gpus(Json& request, const CreateOptions& options) {
    for (const std::string& profile : options.profiles) {
        Json gpu;
        gpu["profile"] = profile;
        put(gpu, "gpu", options.gpu);
        put(gpu, "params", options.params);
        if (options.numa_node) {
            gpu["numa_node"] = *options.numa_node;
        }
        for (std::uint32_t i = 0; i < options.count; ++i) {
            request["gpus"].push_back(gpu);
        }
    }
    if (options.display && request.contains("gpus")) {
        request["gpus"][0]["display"] = true;
    }
    put_flag(request, "distinct_gpus", options.distinct_gpus);
}

} // namespace

Result<Json> disk_of(const std::string& text) {
    std::vector<std::string> parts = split(text);
    const std::string path = parts.front();
    parts.erase(parts.begin());
    Json disk{{"path", path}};
    VGPU_TRY_ASSIGN(const Json named,
                    named_parts(text, parts, {"format", "bus", "readonly", "boot_order"}));
    disk.update(named);
    if (disk.contains("format")) {
        return disk;
    }
    if (path.ends_with(".qcow2")) {
        disk["format"] = "qcow2";
    } else if (path.ends_with(".raw") || path.starts_with("/dev/")) {
        disk["format"] = "raw";
    } else {
        return fail(bad(text, "its name does not tell the format: add ,format=raw or "
                              ",format=qcow2"));
    }
    return disk;
}

Result<Json> network_of(const std::string& text) {
    std::vector<std::string> parts = split(text);
    if (parts.front().find('=') == std::string::npos) {
        parts.front().insert(0, "network=");
    }
    VGPU_TRY_ASSIGN(const Json network,
                    named_parts(text, parts, {"network", "bridge", "mac", "model", "boot_order"}));
    if (network.contains("network") == network.contains("bridge")) {
        return fail(bad(text, "name either a network of libvirt's or, with bridge=, a bridge"));
    }
    return network;
}

Result<Json> create_request(const CreateOptions& options) {
    Json request = Json::object();
    put_texts(request, options);
    if (options.vcpus != 0) {
        request["vcpus"] = options.vcpus;
    }
    if (options.memory_mib != 0) {
        request["memory_mib"] = options.memory_mib;
    }
    for (const std::string& text : options.disks) {
        VGPU_TRY_ASSIGN(const Json disk, disk_of(text));
        request["disks"].push_back(disk);
    }
    for (const std::string& path : options.cdroms) {
        request["disks"].push_back({{"path", path}, {"device", "cdrom"}});
    }
    for (const std::string& text : options.networks) {
        VGPU_TRY_ASSIGN(const Json network, network_of(text));
        request["networks"].push_back(network);
    }
    put_gpus(request, options);
    if (options.no_console) {
        request["console"] = false;
    }
    put_flag(request, "start", options.start);
    return request;
}

} // namespace vgpu::cli
