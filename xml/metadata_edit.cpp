#include "xml/domain_edit.hpp"
#include "xml/domain_nodes.hpp"

#include <fmt/format.h>

#include <array>
#include <string>

namespace vgpu::xml {

namespace {

/// "vgpu:" for an element written with that prefix, "" for one in a default namespace.
std::string prefix_of(const xmlNode* node) {
    if (node->ns == nullptr || node->ns->prefix == nullptr) {
        return {};
    }
    return std::string(reinterpret_cast<const char*>(node->ns->prefix)) + ":";
}

std::string device_element(const std::string& prefix, const VgpuRequest& request) {
    std::string text = fmt::format(R"(<{}device name="{}" profile="{}")", prefix, request.name,
                                   escaped(request.profile));
    if (request.gpu) {
        text += fmt::format(R"( gpu="{}")", request.gpu->to_string());
    }
    if (!request.params.empty()) {
        text += fmt::format(R"( params="{}")", escaped(request.params));
    }
    return text + "/>";
}

std::string devices_element(const Uuid& domain, const VgpuRequest& request) {
    return fmt::format("<vgpu:devices xmlns:vgpu=\"{}\" domain=\"{}\">\n  {}\n</vgpu:devices>",
                       metadata_namespace, domain.to_string(), device_element("vgpu:", request));
}

/// The element that libvirt writes last before <metadata>.
const xmlNode* before_metadata(const xmlNode* domain) {
    constexpr std::array<const char*, 5> heading{"name", "uuid", "genid", "title", "description"};
    const xmlNode* last = nullptr;
    for (const xmlNode* node = first_element(domain); node != nullptr; node = next_element(node)) {
        for (const char* name : heading) {
            last = is_plain(node, name) ? node : last;
        }
    }
    return last;
}

xmlNode* find_device(xmlNode* devices, std::string_view name) {
    xmlNode* node = first_element(devices);
    while (node != nullptr && !(is_device(node) && attribute(node, "name") == name)) {
        node = next_element(node);
    }
    return node;
}

void change_device(Editor& editor, const xmlNode* device, const VgpuRequest& request) {
    TagEdit tag(editor.document, device, editor.edits);
    tag.set("profile", request.profile);
    if (!request.gpu) {
        tag.remove("gpu");
    } else {
        const auto present = PciAddress::parse(attribute(device, "gpu").value_or(""));
        if (!present || *present != *request.gpu) {
            tag.overwrite("gpu", request.gpu->to_string());
        }
    }
    if (!request.params.empty()) {
        tag.set("params", request.params);
    } else if (!attribute(device, "params").value_or("").empty()) {
        tag.remove("params");
    }
}

bool is_blank(const xmlNode* node) {
    return node->type == XML_TEXT_NODE && xmlIsBlankNode(node) != 0;
}

} // namespace

void add_to_metadata(Editor& editor, const std::string& block) {
    if (const xmlNode* metadata = child(editor.domain, "metadata")) {
        editor.elements.append_child(metadata, block);
    } else {
        editor.elements.insert_after(before_metadata(editor.domain),
                                     "<metadata>\n" + indented(block) + "\n</metadata>");
    }
}

void put_request(Editor& editor, const DomainView& view, const VgpuRequest& request) {
    xmlNode* devices = metadata_devices(editor.domain);
    if (devices == nullptr) {
        add_to_metadata(editor, devices_element(view.uuid, request));
        return;
    }
    if (view.request_domain != view.uuid) {
        TagEdit(editor.document, devices, editor.edits).overwrite("domain", view.uuid.to_string());
    }
    if (const xmlNode* device = find_device(devices, request.name)) {
        change_device(editor, device, request);
    } else {
        editor.elements.append_child(devices, device_element(prefix_of(devices), request));
    }
}

void drop_request(Editor& editor, const DomainView& view, std::string_view name) {
    xmlNode* devices = metadata_devices(editor.domain);
    if (view.requests.size() > 1) {
        editor.elements.remove(find_device(devices, name));
        return;
    }
    // Later elements of our namespace go along: the second would become the first, and thus valid.
    const xmlNode* metadata = child(editor.domain, "metadata");
    bool others = false;
    for (const xmlNode* node = metadata->children; node != nullptr; node = node->next) {
        others = others || !(is_ours(node) || is_blank(node));
    }
    if (!others) {
        editor.elements.remove(metadata);
        return;
    }
    for (const xmlNode* node = devices; node != nullptr; node = next_element(node)) {
        if (is_ours(node)) {
            editor.elements.remove(node);
        }
    }
}

} // namespace vgpu::xml
