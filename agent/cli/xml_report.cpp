#include "agent/cli/xml_report.hpp"

#include "agent/cli/table.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace vgpu::cli {

namespace {

using Json = nlohmann::ordered_json;
using xml::DomainView;
using xml::Hostdev;
using xml::VgpuRequest;

Json text_or_null(const std::string& text) {
    return text.empty() ? Json(nullptr) : Json(text);
}

std::string device_of(const Hostdev& hostdev) {
    if (hostdev.address) {
        return hostdev.address->to_string();
    }
    return hostdev.uuid ? hostdev.uuid->to_string() : std::string();
}

std::string type_of(const Hostdev& hostdev) {
    switch (hostdev.type) {
    case Hostdev::Type::pci:
        return "pci";
    case Hostdev::Type::mdev:
        return "mdev";
    case Hostdev::Type::other:
        break;
    }
    return hostdev.other_type;
}

Json request_json(const DomainView& domain, const VgpuRequest& request) {
    const Hostdev* hostdev = domain.hostdev_of(request);
    return {{"name", request.name},
            {"profile", request.profile},
            {"gpu", request.gpu ? Json(request.gpu->to_string()) : Json(nullptr)},
            {"params", text_or_null(request.params)},
            {"device", hostdev != nullptr ? text_or_null(device_of(*hostdev)) : Json(nullptr)}};
}

Json hostdev_json(const Hostdev& hostdev) {
    Json json;
    json["type"] = type_of(hostdev);
    if (hostdev.address) {
        json["address"] = hostdev.address->to_string();
    }
    if (hostdev.uuid) {
        json["uuid"] = hostdev.uuid->to_string();
    }
    if (hostdev.type == Hostdev::Type::pci) {
        json["managed"] = hostdev.managed;
    }
    json["alias"] = text_or_null(hostdev.alias);
    return json;
}

std::string request_of(const DomainView& domain, const Hostdev& hostdev) {
    const auto found = std::find_if(
        domain.requests.begin(), domain.requests.end(),
        [&](const VgpuRequest& request) { return domain.hostdev_of(request) == &hostdev; });
    return found == domain.requests.end() ? "-" : cell_text(found->name);
}

std::string requests_text(const DomainView& domain, bool colour) {
    if (domain.requests.empty()) {
        return "It asks for no vGPU.\n";
    }
    Table table({{"REQUEST"}, {"PROFILE"}, {"GPU"}, {"PARAMS"}, {"DEVICE"}});
    for (const VgpuRequest& request : domain.requests) {
        const Hostdev* hostdev = domain.hostdev_of(request);
        table.add({{cell_text(request.name)},
                   {cell_text(request.profile)},
                   {request.gpu ? request.gpu->to_string() : "any"},
                   {cell_text(request.params)},
                   hostdev != nullptr ? Cell{cell_text(device_of(*hostdev))}
                                      : Cell{"none: run `virt-vgpu assign`", Tone::warning}});
    }
    return table.text(colour);
}

std::string hostdevs_text(const DomainView& domain, bool colour) {
    if (domain.hostdevs.empty()) {
        return "It has no host devices.\n";
    }
    Table table({{"HOSTDEV"}, {"DEVICE"}, {"MANAGED"}, {"ALIAS"}, {"REQUEST"}});
    for (const Hostdev& hostdev : domain.hostdevs) {
        table.add({{cell_text(type_of(hostdev))},
                   {cell_text(device_of(hostdev))},
                   {hostdev.managed ? "yes" : "no"},
                   {cell_text(hostdev.alias)},
                   {request_of(domain, hostdev)}});
    }
    return table.text(colour);
}

} // namespace

std::string domain_json(const DomainView& domain) {
    Json json;
    json["uuid"] = domain.uuid.to_string();
    json["name"] = domain.name;
    json["copy_of"] = domain.is_copy() ? Json(domain.request_domain->to_string()) : Json(nullptr);
    json["requests"] = Json::array();
    for (const VgpuRequest& request : domain.requests) {
        json["requests"].push_back(request_json(domain, request));
    }
    json["hostdevs"] = Json::array();
    for (const Hostdev& hostdev : domain.hostdevs) {
        json["hostdevs"].push_back(hostdev_json(hostdev));
    }
    json["notes"] = domain.notes;
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string domain_text(const DomainView& domain, bool colour) {
    std::string text =
        fmt::format("Domain {} ({})\n", cell_text(domain.name), domain.uuid.to_string());
    if (domain.is_copy()) {
        text += fmt::format("Its requests were written for domain {}: it is a copy of that one and "
                            "holds no claim; `virt-vgpu assign` gives it devices of its own.\n",
                            domain.request_domain->to_string());
    }
    text += "\n" + requests_text(domain, colour) + "\n" + hostdevs_text(domain, colour);
    for (const std::string& note : domain.notes) {
        text += "\nNote: " + cell_text(note) + "\n";
    }
    return text;
}

} // namespace vgpu::cli
