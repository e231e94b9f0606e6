#include "xml/domain_nodes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>

namespace vgpu::xml {

namespace {

constexpr std::string_view name_characters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
constexpr std::size_t max_name = 64;

bool has_control_character(std::string_view text) {
    return std::ranges::any_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

Result<VgpuRequest> read_request(const xmlNode* node) {
    VgpuRequest request;
    request.name = attribute(node, "name").value_or("");
    request.profile = attribute(node, "profile").value_or("");
    request.params = attribute(node, "params").value_or("");
    VGPU_TRY(check_request(request));
    if (const auto gpu = attribute(node, "gpu")) {
        auto address = PciAddress::parse(*gpu);
        if (!address) {
            return fail(address.error().in(fmt::format("gpu= of vGPU {}", request.name)));
        }
        request.gpu = *address;
    }
    return request;
}

Result<void> read_requests(const Document& document, const xmlNode* devices, DomainView& view) {
    std::set<std::string> names;
    for (const xmlNode* node = first_element(devices); node != nullptr; node = next_element(node)) {
        if (!is_device(node)) {
            continue;
        }
        auto request = read_request(node);
        if (!request) {
            return fail(
                request.error().in(fmt::format("vGPU request on line {}", document.line(node))));
        }
        if (!names.insert(request->name).second) {
            return fail(ErrorCode::invalid, fmt::format("two vGPU requests are called {} (line {})",
                                                        request->name, document.line(node)));
        }
        if (view.requests.size() == max_requests) {
            return fail(ErrorCode::invalid,
                        fmt::format("the domain asks for more than {} vGPUs", max_requests));
        }
        view.requests.push_back(*std::move(request));
    }
    return {};
}

/// One note of each kind: finding a line costs a walk through the text, and there may be 200,000
/// elements.
void note_ignored(const Document& document, xmlNode* domain, xmlNode* devices, DomainView& view) {
    const xmlNode* second = next_element(devices);
    while (second != nullptr && !is_ours(second)) {
        second = next_element(second);
    }
    if (second != nullptr) {
        view.notes.push_back(
            fmt::format("a second element of the namespace {} on line {} is ignored: libvirt "
                        "keeps only the first of each namespace",
                        metadata_namespace, document.line(second)));
    }
    second = next_element(child(domain, "metadata"));
    while (second != nullptr && !is_plain(second, "metadata")) {
        second = next_element(second);
    }
    if (second != nullptr) {
        view.notes.push_back(fmt::format(
            "a second <metadata> on line {} is ignored, as libvirt does", document.line(second)));
    }
}

} // namespace

bool is_ours(const xmlNode* node) {
    return node->type == XML_ELEMENT_NODE && node->ns != nullptr && node->ns->href != nullptr &&
           std::strcmp(reinterpret_cast<const char*>(node->ns->href), metadata_namespace) == 0;
}

bool is_device(const xmlNode* node) {
    return is_ours(node) && std::strcmp(reinterpret_cast<const char*>(node->name), "device") == 0;
}

xmlNode* metadata_devices(xmlNode* domain) {
    const xmlNode* metadata = child(domain, "metadata");
    xmlNode* node = metadata == nullptr ? nullptr : first_element(metadata);
    while (node != nullptr && !is_ours(node)) {
        node = next_element(node);
    }
    return node;
}

Result<void> read_metadata(const Document& document, xmlNode* domain, DomainView& view) {
    xmlNode* devices = metadata_devices(domain);
    if (devices == nullptr) {
        return {};
    }
    if (std::strcmp(reinterpret_cast<const char*>(devices->name), "devices") != 0) {
        return fail(ErrorCode::invalid,
                    fmt::format("the metadata of namespace {} must be one <devices> element, but "
                                "on line {} it is <{}>",
                                metadata_namespace, document.line(devices),
                                printable(reinterpret_cast<const char*>(devices->name), 40)));
    }
    view.has_request = true;
    if (const auto owner = attribute(devices, "domain")) {
        view.request_domain = libvirt_uuid(*owner);
        if (!view.request_domain) {
            return fail(ErrorCode::invalid,
                        fmt::format("domain= of the vGPU metadata on line {} is no UUID",
                                    document.line(devices)));
        }
    }
    VGPU_TRY(read_requests(document, devices, view));
    note_ignored(document, domain, devices, view);
    return {};
}

Result<void> check_request(const VgpuRequest& request) {
    if (request.name.empty()) {
        return fail(ErrorCode::invalid, "a vGPU request has no name");
    }
    if (request.name.size() > max_name ||
        request.name.find_first_not_of(name_characters) != request.name.npos) {
        return fail(
            ErrorCode::invalid,
            fmt::format("\"{}\" is no name for a vGPU: it becomes a device alias, so only 1 "
                        "to {} letters, digits, '_' and '-' are allowed",
                        printable(request.name, 80), max_name));
    }
    if (request.profile.find_first_not_of(' ') == request.profile.npos) {
        return fail(ErrorCode::invalid, fmt::format("vGPU {} has no profile", request.name));
    }
    if (has_control_character(request.profile) || has_control_character(request.params)) {
        return fail(
            ErrorCode::invalid,
            fmt::format("profile or params of vGPU {} holds a control character", request.name));
    }
    return {};
}

} // namespace vgpu::xml
