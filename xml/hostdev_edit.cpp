#include "xml/domain_edit.hpp"
#include "xml/domain_nodes.hpp"

#include <fmt/format.h>

#include <string>

namespace vgpu::xml {

namespace {

std::string pci_address(const PciAddress& address) {
    return fmt::format(
        "<address domain='0x{:04x}' bus='0x{:02x}' slot='0x{:02x}' function='0x{:x}'/>",
        address.domain, address.bus, address.slot, address.function);
}

std::string source_address(const DeviceKey& device) {
    return device.is_mdev() ? fmt::format("<address uuid='{}'/>", device.mdev().to_string())
                            : pci_address(device.pci());
}

/// A guest address is left to libvirt: a fixed one would be copied with the domain and could
/// collide.
std::string hostdev_element(const Assignment& assignment) {
    const bool mdev = assignment.device.is_mdev();
    return fmt::format("<hostdev mode='subsystem' type='{}' managed='no'{}{}{}>\n"
                       "{}"
                       "  <source>\n"
                       "    {}\n"
                       "  </source>\n"
                       "  <alias name='{}'/>\n"
                       "</hostdev>",
                       mdev ? "mdev" : "pci", mdev ? " model='vfio-pci'" : "",
                       assignment.display ? " display='on'" : "",
                       assignment.display && assignment.ramfb ? " ramfb='on'" : "",
                       mdev ? "" : "  <driver name='vfio'/>\n", source_address(assignment.device),
                       alias_for(assignment.request.name));
}

/// The element below <devices> that has the alias, or null; `owner` is the last <devices>.
struct Found {
    xmlNode* devices = nullptr;
    xmlNode* element = nullptr;
};

Found find_alias(xmlNode* domain, const std::string& alias) {
    Found found;
    for (xmlNode* node = first_element(domain); node != nullptr; node = next_element(node)) {
        if (!is_plain(node, "devices")) {
            continue;
        }
        found.devices = node;
        for (xmlNode* device = first_element(node); device != nullptr && found.element == nullptr;
             device = next_element(device)) {
            found.element = alias_of(device) == alias ? device : nullptr;
        }
    }
    return found;
}

bool is_vfio(const xmlNode* element) {
    const std::string type = attribute(element, "type").value_or("");
    return is_plain(element, "hostdev") && (type == "pci" || type == "mdev") &&
           attribute(element, "mode").value_or("subsystem") == "subsystem";
}

void set_number(TagEdit& tag, const xmlNode* address, const char* name, std::uint32_t value,
                int digits) {
    if (libvirt_number(attribute(address, name).value_or("0")) != value) {
        tag.overwrite(name, fmt::format("0x{:0{}x}", value, digits));
    }
}

void point_address(Editor& editor, const xmlNode* address, const DeviceKey& device) {
    TagEdit tag(editor.document, address, editor.edits);
    if (device.is_mdev()) {
        if (libvirt_uuid(attribute(address, "uuid").value_or("")) != device.mdev()) {
            tag.overwrite("uuid", device.mdev().to_string());
        }
        return;
    }
    set_number(tag, address, "domain", device.pci().domain, 4);
    set_number(tag, address, "bus", device.pci().bus, 2);
    set_number(tag, address, "slot", device.pci().slot, 2);
    set_number(tag, address, "function", device.pci().function, 1);
}

void drop_child(Editor& editor, const xmlNode* hostdev, const char* name) {
    if (const xmlNode* node = child(hostdev, name)) {
        editor.elements.remove(node);
    }
}

/// From one kind to the other: what libvirt's schema and QEMU driver allow for the old kind only
/// goes. The guest address and <rom> are good for both; a boot order is "not supported by mediated
/// devices".
void change_kind(Editor& editor, const xmlNode* hostdev, TagEdit& tag, const DeviceKey& device) {
    const xmlNode* source = child(hostdev, "source");
    TagEdit source_tag(editor.document, source, editor.edits);
    source_tag.remove("writeFiltering");
    source_tag.remove("startupPolicy");
    editor.elements.replace(child(source, "address"), source_address(device));
    if (device.is_mdev()) {
        drop_child(editor, hostdev, "driver");
        drop_child(editor, hostdev, "teaming");
        drop_child(editor, hostdev, "boot");
    } else {
        tag.remove("display");
        tag.remove("ramfb");
    }
}

void set_driver(Editor& editor, const xmlNode* hostdev) {
    if (const xmlNode* driver = child(hostdev, "driver")) {
        TagEdit(editor.document, driver, editor.edits).set("name", "vfio");
    } else {
        editor.elements.insert_before(child(hostdev, "source"), "<driver name='vfio'/>");
    }
}

void point_hostdev(Editor& editor, const xmlNode* hostdev, const Assignment& assignment) {
    const DeviceKey& device = assignment.device;
    const char* type = device.is_mdev() ? "mdev" : "pci";
    TagEdit tag(editor.document, hostdev, editor.edits);
    if (attribute(hostdev, "type") == type) {
        point_address(editor, child(child(hostdev, "source"), "address"), device);
    } else {
        change_kind(editor, hostdev, tag, device);
    }
    tag.set("type", type);
    tag.set("managed", "no");
    if (!device.is_mdev()) {
        tag.remove("model");
        set_driver(editor, hostdev);
        return;
    }
    tag.set("model", "vfio-pci");
    if (assignment.display) {
        tag.set("display", "on");
        if (assignment.ramfb) {
            tag.set("ramfb", "on");
        }
    }
}

} // namespace

Result<void> put_hostdev(Editor& editor, const Assignment& assignment) {
    const std::string alias = alias_for(assignment.request.name);
    if (assignment.display && !assignment.device.is_mdev()) {
        return fail(ErrorCode::unsupported,
                    fmt::format("vGPU {} cannot have a display: {} is a PCI function, and only a "
                                "mediated device has one",
                                assignment.request.name, assignment.device.device()));
    }
    const Found found = find_alias(editor.domain, alias);
    if (found.element != nullptr && !is_vfio(found.element)) {
        return fail(ErrorCode::invalid,
                    fmt::format("the alias {} belongs to a <{}> on line {} that is no pci or mdev "
                                "hostdev; choose another name for the vGPU",
                                alias, reinterpret_cast<const char*>(found.element->name),
                                editor.document.line(found.element)));
    }
    if (found.element != nullptr) {
        point_hostdev(editor, found.element, assignment);
    } else if (found.devices != nullptr) {
        editor.elements.append_child(found.devices, hostdev_element(assignment));
    } else {
        editor.elements.append_child(
            editor.domain, "<devices>\n" + indented(hostdev_element(assignment)) + "\n</devices>");
    }
    return {};
}

void drop_hostdev(Editor& editor, std::string_view name) {
    const Found found = find_alias(editor.domain, alias_for(name));
    if (found.element != nullptr && is_vfio(found.element)) {
        editor.elements.remove(found.element);
    }
}

} // namespace vgpu::xml
