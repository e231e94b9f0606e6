#include "xml/forked.hpp"

#include "xml/domain_nodes.hpp"
#include "xml/fork_steps.hpp"
#include "xml/instance.hpp"
#include "xml/instance_element.hpp"
#include "xml/instance_metadata.hpp"
#include "xml/instance_request.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace vgpu::xml {

namespace {

void set_content(Editor& editor, const xmlNode* element, const std::string& text) {
    const ElementSpan& span = editor.document.span(element);
    editor.edits.replace(span.open_end, span.close_begin, escaped(text));
}

/// Puts an element of that name with nothing in it in place of one that has a value.
void renew_genid(Editor& editor) {
    if (const xmlNode* genid = child(editor.domain, "genid")) {
        editor.elements.replace(genid, "<genid/>");
    }
}

/// The path of the file goes, the template stays: libvirt then makes the new domain its own.
void drop_nvram(Editor& editor) {
    const xmlNode* os = child(editor.domain, "os");
    const xmlNode* nvram = os == nullptr ? nullptr : child(os, "nvram");
    if (nvram == nullptr) {
        return;
    }
    if (const auto origin = attribute(nvram, "template")) {
        editor.elements.replace(nvram, fmt::format("<nvram template='{}'/>", escaped(*origin)));
    } else {
        editor.elements.remove(nvram);
    }
}

/// libvirt refuses a domain whose SMBIOS uuid is not its own. Some write the uuid into the serial
/// number, too.
void renew_sysinfo(Editor& editor, const Uuid& before, const Uuid& after) {
    for (const xmlNode* info = first_element(editor.domain); info != nullptr;
         info = next_element(info)) {
        if (!is_plain(info, "sysinfo")) {
            continue;
        }
        for (const xmlNode* part = first_element(info); part != nullptr;
             part = next_element(part)) {
            for (const xmlNode* entry = first_element(part); entry != nullptr;
                 entry = next_element(entry)) {
                const bool is_uuid = is_plain(part, "system") && attribute(entry, "name") == "uuid";
                if (is_plain(entry, "entry") && !editor.document.span(entry).self_closed() &&
                    (is_uuid || libvirt_uuid(content(entry)) == before)) {
                    set_content(editor, entry, after.to_string());
                }
            }
        }
    }
}

/// Labels that libvirt gives out at each start. A base label is the user's wish.
void drop_labels(Editor& editor) {
    for (const xmlNode* label = first_element(editor.domain); label != nullptr;
         label = next_element(label)) {
        if (!is_plain(label, "seclabel") || attribute(label, "type") != "dynamic") {
            continue;
        }
        if (child(label, "baselabel") == nullptr) {
            editor.elements.remove(label);
            continue;
        }
        for (const char* name : {"label", "imagelabel"}) {
            if (const xmlNode* given = child(label, name)) {
                editor.elements.remove(given);
            }
        }
    }
}

/// The request that the source was made from becomes what would have made the fork. One that this
/// version cannot read says nothing true of the fork, and goes.
void fork_request(Editor& editor, const std::string& new_name, const ForkOptions& options) {
    const xmlNode* element = instance_element(editor.domain);
    if (element == nullptr) {
        return;
    }
    auto request = parse_instance_request_text(content(element));
    if (!request) {
        drop_instance(editor);
        return;
    }
    request->name = new_name;
    const auto mapped = [&](std::string& path) {
        const auto found = options.disks.find(path);
        path = found == options.disks.end() ? path : found->second;
    };
    for (InstanceDisk& disk : request->disks) {
        mapped(disk.path);
    }
    mapped(request->cloud_init_iso);
    for (InstanceNetwork& card : request->networks) {
        card.mac.clear();
    }
    put_instance(editor, request_text(*request));
}

void fork_identity(Editor& editor, const DomainView& view, const std::string& new_name,
                   const Uuid& new_uuid) {
    TagEdit(editor.document, editor.domain, editor.edits).remove("id");
    set_content(editor, child(editor.domain, "name"), new_name);
    set_content(editor, child(editor.domain, "uuid"), new_uuid.to_string());
    renew_genid(editor);
    renew_sysinfo(editor, view.uuid, new_uuid);
    drop_nvram(editor);
    drop_labels(editor);
    if (const xmlNode* devices = metadata_devices(editor.domain)) {
        TagEdit(editor.document, devices, editor.edits).overwrite("domain", new_uuid.to_string());
    }
}

/// True for a hostdev that a request of ours was given.
bool is_assigned(const xmlNode* device, const DomainView& view) {
    const std::string alias = alias_of(device);
    return is_plain(device, "hostdev") &&
           std::ranges::any_of(view.requests, [&](const VgpuRequest& request) {
               return alias == alias_for(request.name);
           });
}

void fork_devices(Editor& editor, const DomainView& view) {
    for (const xmlNode* devices = first_element(editor.domain); devices != nullptr;
         devices = next_element(devices)) {
        if (!is_plain(devices, "devices")) {
            continue;
        }
        for (xmlNode* device = first_element(devices); device != nullptr;
             device = next_element(device)) {
            if (is_assigned(device, view)) {
                editor.elements.remove(device);
            } else if (!is_plain(device, "disk")) {
                fork_device(editor, device, view.name);
            }
        }
    }
}

/// Reads the result back: a fork that is not whole must not become somebody's domain.
Result<void> verify(const DomainView& before, const std::string& xml, const std::string& new_name,
                    const Uuid& new_uuid) {
    const auto after = read_domain(xml);
    if (!after) {
        return fail(after.error().in("the fork cannot be written as XML"));
    }
    const bool pointed = std::ranges::any_of(after->requests, [&](const VgpuRequest& request) {
        return after->hostdev_of(request) != nullptr;
    });
    if (after->name != new_name || after->uuid != new_uuid || after->is_copy() || pointed ||
        after->requests != before.requests) {
        return fail(ErrorCode::invalid,
                    fmt::format("the XML of domain {} cannot be forked: it does not read back as "
                                "the fork's",
                                before.name));
    }
    return {};
}

} // namespace

Result<std::string> forked_xml(std::string_view source_xml, const std::string& new_name,
                               const Uuid& new_uuid, const ForkOptions& options) {
    VGPU_TRY(check_instance_name(new_name));
    VGPU_TRY_ASSIGN(const Document document, Document::parse(source_xml));
    VGPU_TRY_ASSIGN(const DomainView view, read_view(document));
    if (!is_plain(document.root(), "domain")) {
        return fail(ErrorCode::invalid, "a status file of libvirt cannot be forked, only the XML "
                                        "of a domain");
    }
    if (view.name == new_name || view.uuid == new_uuid) {
        return fail(ErrorCode::invalid,
                    fmt::format("a fork of domain {} needs a name and a uuid of its own",
                                printable(view.name)));
    }
    TextEdits edits;
    Editor editor{document, document.root(), edits, ElementEdit(document, document.root(), edits)};
    if (auto done = fork_disks(editor, options); !done) {
        return fail(done.error().in(fmt::format("fork of domain {}", printable(view.name))));
    }
    fork_identity(editor, view, new_name, new_uuid);
    fork_request(editor, new_name, options);
    fork_devices(editor, view);
    std::string result = edits.apply(source_xml);
    VGPU_TRY(verify(view, result, new_name, new_uuid));
    return result;
}

} // namespace vgpu::xml
