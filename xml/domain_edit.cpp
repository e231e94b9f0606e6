#include "xml/domain_edit.hpp"

#include "xml/domain.hpp"
#include "xml/domain_nodes.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace vgpu::xml {

namespace {

/// Everything that one edit needs.
struct Session {
    Document document;
    xmlNode* domain;
    DomainView view;
};

Result<Session> open(std::string_view xml) {
    VGPU_TRY_ASSIGN(Document document, Document::parse(xml));
    VGPU_TRY_ASSIGN(xmlNode * domain, domain_node(document));
    VGPU_TRY_ASSIGN(DomainView view, read_view(document));
    return Session{std::move(document), domain, std::move(view)};
}

const VgpuRequest* find_request(const DomainView& view, std::string_view name) {
    const auto found = std::ranges::find(view.requests, name, &VgpuRequest::name);
    return found == view.requests.end() ? nullptr : &*found;
}

bool is_device_of(const Hostdev& hostdev, const DeviceKey& device) {
    return device.is_mdev() ? hostdev.uuid == device.mdev() : hostdev.address == device.pci();
}

/// A device twice in one domain is refused by libvirt, but only when the domain is defined.
/// Hostdevs of other requests do not count: pointing several requests at new devices may pass
/// through such a state.
Result<void> check_not_foreign(const DomainView& view, const Assignment& assignment) {
    for (const Hostdev& hostdev : view.hostdevs) {
        const bool of_request = hostdev.alias == alias_for(assignment.request.name) ||
                                std::ranges::any_of(view.requests, [&](const VgpuRequest& request) {
                                    return hostdev.alias == alias_for(request.name);
                                });
        if (!of_request && is_device_of(hostdev, assignment.device)) {
            return fail(ErrorCode::conflict,
                        fmt::format("domain {} already has a hostdev for {} that no vGPU request "
                                    "owns; remove it first",
                                    view.name, assignment.device.device()));
        }
    }
    return {};
}

/// True if nothing but the assigned request and its hostdev differs.
bool rest_is_same(DomainView before, DomainView after, const std::string& name) {
    for (DomainView* view : {&before, &after}) {
        std::erase_if(view->requests, [&](const VgpuRequest& r) { return r.name == name; });
        std::erase_if(view->hostdevs, [&](const Hostdev& h) { return h.alias == alias_for(name); });
    }
    return before.uuid == after.uuid && before.name == after.name &&
           before.requests == after.requests && before.hostdevs == after.hostdevs;
}

/// Reads the result back. What no check above has foreseen (a profile with bytes that XML cannot
/// hold) must not become somebody's domain.
Result<void> verify(const DomainView& before, const std::string& xml,
                    const Assignment& assignment) {
    auto after = read_domain(xml);
    if (!after) {
        return fail(after.error().in("the assignment cannot be written as XML"));
    }
    const VgpuRequest* request = find_request(*after, assignment.request.name);
    const Hostdev* hostdev = request == nullptr ? nullptr : after->hostdev_of(*request);
    if (hostdev == nullptr || *request != assignment.request || hostdev->managed ||
        !is_device_of(*hostdev, assignment.device) || after->request_domain != before.uuid ||
        !rest_is_same(before, *after, assignment.request.name)) {
        return fail(ErrorCode::invalid,
                    fmt::format("the XML of domain {} cannot be edited: the assignment of {} does "
                                "not read back",
                                before.name, assignment.request.name));
    }
    return {};
}

} // namespace

Result<std::string> with_assignment(std::string_view xml, const Assignment& assignment) {
    VGPU_TRY(check_request(assignment.request));
    VGPU_TRY_ASSIGN(const Session session, open(xml));
    VGPU_TRY(check_not_foreign(session.view, assignment));
    TextEdits edits;
    Editor editor{session.document, session.domain, edits,
                  ElementEdit(session.document, session.domain, edits)};
    put_request(editor, session.view, assignment.request);
    VGPU_TRY(put_hostdev(editor, assignment));
    std::string result = edits.apply(xml);
    VGPU_TRY(verify(session.view, result, assignment));
    return result;
}

Result<std::string> without_assignment(std::string_view xml, std::string_view name) {
    VGPU_TRY_ASSIGN(const Session session, open(xml));
    const VgpuRequest* request = find_request(session.view, name);
    if (request == nullptr) {
        return fail(ErrorCode::not_found, fmt::format("domain {} asks for no vGPU called {}",
                                                      session.view.name, printable(name, 80)));
    }
    TextEdits edits;
    Editor editor{session.document, session.domain, edits,
                  ElementEdit(session.document, session.domain, edits)};
    drop_request(editor, session.view, request->name);
    drop_hostdev(editor, request->name);
    return edits.apply(xml);
}

} // namespace vgpu::xml
