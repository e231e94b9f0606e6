#include "xml/domain_nodes.hpp"
#include "xml/instance_element.hpp"
#include "xml/instance_parts.hpp"
#include "xml/instance_request.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace vgpu::xml {

namespace {

tl::unexpected<Error> refuse_base(std::string_view what) {
    return fail(ErrorCode::invalid, fmt::format("/base_xml: {}", what));
}

std::string element_of(const char* name, const std::string& text) {
    return fmt::format("<{0}>{1}</{0}>", name, escaped(text));
}

/// Name and uuid replace those that are there, else they become the first elements.
void set_identity(Editor& editor, const std::string& name, const Uuid& uuid) {
    const xmlNode* first = first_element(editor.domain);
    const xmlNode* old_name = child(editor.domain, "name");
    const xmlNode* old_uuid = child(editor.domain, "uuid");
    const std::string new_name = element_of("name", name);
    const std::string new_uuid = element_of("uuid", uuid.to_string());
    const auto overwrite = [&](const xmlNode* element, const std::string& block) {
        const ElementSpan& span = editor.document.span(element);
        editor.edits.replace(span.open_begin, span.end, block);
    };
    if (old_name == nullptr) {
        editor.elements.insert_before(first, new_name);
    } else {
        overwrite(old_name, new_name);
    }
    if (old_uuid != nullptr) {
        overwrite(old_uuid, new_uuid);
    } else if (old_name != nullptr) {
        editor.elements.insert_after(old_name, new_uuid);
    } else {
        editor.elements.insert_before(first, new_uuid);
    }
}

bool has_graphics(const xmlNode* domain) {
    const xmlNode* devices = child(domain, "devices");
    return devices != nullptr && child(devices, "graphics") != nullptr;
}

/// What of the request the base cannot carry.
Result<void> check_fit(const InstanceRequest& request, const xmlNode* domain,
                       const DomainView& view, std::string_view virt_type) {
    const std::string type = attribute(domain, "type").value_or("");
    if (!virt_type.empty() && type != virt_type) {
        return refuse_base(fmt::format("its domain type is \"{}\", and virt_type says {}",
                                       printable(type, 40), virt_type));
    }
    if (view.has_request) {
        return refuse_base("it asks for vGPUs in its metadata; ask for them in gpus, and remove "
                           "the element of the namespace urn:virt-vgpu:domain:1 and its hostdevs");
    }
    const bool display = std::ranges::any_of(request.gpus, &InstanceGpu::display);
    if (display && !has_graphics(domain)) {
        return refuse_base("a vGPU with a display needs <graphics> in it");
    }
    return {};
}

/// The editor would point such a device, which is somebody else's, at the vGPU.
Result<void> check_aliases(const InstanceRequest& request, xmlNode* domain) {
    for (const xmlNode* devices = first_element(domain); devices != nullptr;
         devices = next_element(devices)) {
        if (!is_plain(devices, "devices")) {
            continue;
        }
        for (const xmlNode* device = first_element(devices); device != nullptr;
             device = next_element(device)) {
            const std::string alias = alias_of(device);
            for (const InstanceGpu& gpu : request.gpus) {
                if (alias == alias_for(gpu.name)) {
                    return fail(ErrorCode::conflict,
                                fmt::format("/base_xml: a <{}> has the alias {}, which is the "
                                            "vGPU's of that name; rename one of them",
                                            reinterpret_cast<const char*>(device->name), alias));
                }
            }
        }
    }
    return {};
}

} // namespace

Result<std::string> based_xml(const InstanceRequest& request, const Uuid& uuid,
                              std::string_view virt_type) {
    auto parsed = Document::parse(request.base_xml);
    if (!parsed) {
        return fail(parsed.error().in("/base_xml"));
    }
    const Document document = *std::move(parsed);
    xmlNode* domain = document.root();
    if (!is_plain(domain, "domain")) {
        return refuse_base("its outermost element is not <domain>");
    }
    if (first_element(domain) == nullptr) {
        return refuse_base("its <domain> is empty");
    }
    TextEdits edits;
    Editor editor{document, domain, edits, ElementEdit(document, domain, edits)};
    set_identity(editor, request.name, uuid);
    const std::string named = edits.apply(request.base_xml);
    // Read only now that it has a name and a uuid, which a template may lack.
    const auto view = read_domain(named);
    if (!view) {
        return fail(view.error().in("/base_xml"));
    }
    VGPU_TRY(check_fit(request, domain, *view, virt_type));
    VGPU_TRY(check_aliases(request, domain));
    VGPU_TRY_ASSIGN(const Document whole, Document::parse(named));
    TextEdits more;
    Editor last{whole, whole.root(), more, ElementEdit(whole, whole.root(), more)};
    put_instance(last, request_text(request));
    return more.apply(named);
}

} // namespace vgpu::xml
