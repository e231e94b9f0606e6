#include "xml/domain.hpp"
#include "xml/domain_nodes.hpp"
#include "xml/xml_document.hpp"

#include <fmt/format.h>

#include <map>
#include <string>
#include <utility>

namespace vgpu::xml {

namespace {

Result<Uuid> read_uuid(const Document& document, const xmlNode* domain) {
    const xmlNode* node = child(domain, "uuid");
    if (node == nullptr) {
        return fail(ErrorCode::invalid,
                    "the domain has no <uuid>, by which its devices are claimed; take the XML from "
                    "'virsh dumpxml', or add one");
    }
    if (const auto uuid = libvirt_uuid(content(node))) {
        return *uuid;
    }
    return fail(ErrorCode::invalid,
                fmt::format("the domain's <uuid> is no UUID (line {})", document.line(node)));
}

/// The name ends up in messages and in the path of a pid file; libvirt's QEMU driver refuses both,
/// too.
Result<std::string> read_name(const Document& document, const xmlNode* domain) {
    const xmlNode* node = child(domain, "name");
    std::string name = node == nullptr ? std::string() : content(node);
    if (name.empty()) {
        return fail(ErrorCode::invalid, "the domain has no <name>");
    }
    if (name.find_first_of("/\n") != name.npos) {
        return fail(ErrorCode::invalid, fmt::format("the domain's <name> holds '/' or a line break "
                                                    "(line {})",
                                                    document.line(node)));
    }
    return name;
}

Result<void> read_hostdevs(const Document& document, xmlNode* domain, DomainView& view) {
    for (xmlNode* devices = first_element(domain); devices != nullptr;
         devices = next_element(devices)) {
        if (!is_plain(devices, "devices")) {
            continue;
        }
        for (xmlNode* node = first_element(devices); node != nullptr; node = next_element(node)) {
            if (is_plain(node, "hostdev")) {
                VGPU_TRY_ASSIGN(Hostdev hostdev, read_hostdev(document, node));
                view.hostdevs.push_back(std::move(hostdev));
            }
        }
    }
    return {};
}

/// With two hostdevs of one alias nobody could say which is the request's. libvirt refuses that as
/// well.
Result<void> check_aliases(const DomainView& view) {
    std::map<std::string, int> times;
    for (const Hostdev& hostdev : view.hostdevs) {
        ++times[hostdev.alias];
    }
    for (const VgpuRequest& request : view.requests) {
        const auto found = times.find(alias_for(request.name));
        if (found != times.end() && found->second > 1) {
            return fail(ErrorCode::invalid, fmt::format("{} hostdevs have the alias {}; each "
                                                        "device needs its own",
                                                        found->second, found->first));
        }
    }
    return {};
}

} // namespace

Result<xmlNode*> domain_node(const Document& document) {
    xmlNode* root = document.root();
    if (is_plain(root, "domain")) {
        return root;
    }
    xmlNode* domain = is_plain(root, "domstatus") ? child(root, "domain") : nullptr;
    if (domain == nullptr) {
        return fail(ErrorCode::invalid,
                    fmt::format("this is no domain XML: its outermost element is <{}>",
                                printable(reinterpret_cast<const char*>(root->name), 40)));
    }
    return domain;
}

Result<DomainView> read_view(const Document& document) {
    VGPU_TRY_ASSIGN(xmlNode * domain, domain_node(document));
    DomainView view;
    VGPU_TRY_ASSIGN(view.uuid, read_uuid(document, domain));
    VGPU_TRY_ASSIGN(view.name, read_name(document, domain));
    VGPU_TRY(read_metadata(document, domain, view));
    VGPU_TRY(read_hostdevs(document, domain, view));
    VGPU_TRY(check_aliases(view));
    return view;
}

Result<DomainView> read_domain(std::string_view xml) {
    VGPU_TRY_ASSIGN(const Document document, Document::parse(xml));
    return read_view(document);
}

const Hostdev* DomainView::hostdev_of(const VgpuRequest& request) const {
    const std::string alias = alias_for(request.name);
    for (const Hostdev& hostdev : hostdevs) {
        if (hostdev.alias == alias && hostdev.type != Hostdev::Type::other) {
            return &hostdev;
        }
    }
    return nullptr;
}

std::string alias_for(std::string_view name) {
    return std::string("ua-").append(name);
}

} // namespace vgpu::xml
