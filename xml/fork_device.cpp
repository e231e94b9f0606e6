#include "xml/domain_nodes.hpp"
#include "xml/fork_steps.hpp"

#include <array>

namespace vgpu::xml {

namespace {

bool contains(std::string_view text, std::string_view part) {
    return text.find(part) != text.npos;
}

void drop_child(Editor& editor, const xmlNode* parent, const char* name) {
    if (const xmlNode* node = child(parent, name)) {
        editor.elements.remove(node);
    }
}

void drop_attribute(Editor& editor, const xmlNode* element, const char* name) {
    TagEdit(editor.document, element, editor.edits).remove(name);
}

/// Tap devices that libvirt names itself, and drops from a definition, too.
bool is_automatic_tap(std::string_view name) {
    constexpr std::array<std::string_view, 4> prefixes{"vnet", "macvtap", "macvlan", "vif"};
    for (const std::string_view prefix : prefixes) {
        if (name.starts_with(prefix)) {
            return true;
        }
    }
    return false;
}

void fork_interface(Editor& editor, const xmlNode* device) {
    drop_child(editor, device, "mac");
    const xmlNode* target = child(device, "target");
    if (target != nullptr && is_automatic_tap(attribute(target, "dev").value_or(""))) {
        // managed= makes no sense without the name.
        editor.elements.remove(target);
    }
    if (const xmlNode* source = child(device, "source")) {
        drop_attribute(editor, source, "portid");
    }
    const xmlNode* port = child(device, "virtualport");
    const xmlNode* parameters = port == nullptr ? nullptr : child(port, "parameters");
    if (parameters == nullptr) {
        return;
    }
    // The id of this very port: Open vSwitch's and 802.1Qbg's are made when they are absent.
    // Midonet's is the user's, and required.
    const std::string type = attribute(port, "type").value_or("openvswitch");
    if (type == "openvswitch") {
        drop_attribute(editor, parameters, "interfaceid");
    } else if (type == "802.1Qbg") {
        drop_attribute(editor, parameters, "instanceid");
    }
}

bool is_character_device(const xmlNode* device) {
    for (const char* name : {"serial", "parallel", "console", "channel"}) {
        if (is_plain(device, name)) {
            return true;
        }
    }
    return false;
}

bool is_word_character(char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/// True if the last part of the path has the name as a word: "vm1-serial.log" is of vm1, and
/// "vm12.log" is not.
bool is_file_of(std::string_view path, std::string_view name) {
    path.remove_prefix(path.rfind('/') + 1);
    for (auto at = path.find(name); at != path.npos; at = path.find(name, at + 1)) {
        const auto end = at + name.size();
        if ((at == 0 || !is_word_character(path[at - 1])) &&
            (end == path.size() || !is_word_character(path[end]))) {
            return true;
        }
    }
    return false;
}

/// A pseudo terminal is another one at each start; a socket of libvirt's own has the domain's name.
void fork_character_device(Editor& editor, const xmlNode* device, const std::string& old_name) {
    const std::string type = attribute(device, "type").value_or("");
    const xmlNode* source = child(device, "source");
    const std::string path =
        source == nullptr ? std::string() : attribute(source, "path").value_or("");
    if (type == "pty") {
        drop_attribute(editor, device, "tty");
    }
    // Only a channel may lack its socket.
    const bool automatic = type == "unix" && is_plain(device, "channel") && is_automatic_path(path);
    if (source != nullptr && (type == "pty" || automatic)) {
        editor.elements.remove(source);
    }
    const xmlNode* log = child(device, "log");
    if (log != nullptr && is_file_of(attribute(log, "file").value_or(""), old_name)) {
        editor.elements.remove(log);
    }
}

void fork_graphics(Editor& editor, const xmlNode* graphics) {
    if (is_automatic_path(attribute(graphics, "socket").value_or(""))) {
        drop_attribute(editor, graphics, "socket");
    }
    for (const xmlNode* listen = first_element(graphics); listen != nullptr;
         listen = next_element(listen)) {
        if (is_plain(listen, "listen") &&
            is_automatic_path(attribute(listen, "socket").value_or(""))) {
            drop_attribute(editor, listen, "socket");
        }
    }
}

void fork_vsock(Editor& editor, const xmlNode* vsock) {
    const xmlNode* cid = child(vsock, "cid");
    if (cid != nullptr && attribute(cid, "auto") == "yes") {
        drop_attribute(editor, cid, "address");
    }
}

} // namespace

bool is_automatic_path(std::string_view path) {
    return path.starts_with("/var/lib/libvirt/qemu/") || path.starts_with("/run/libvirt/") ||
           path.starts_with("/var/run/libvirt/") || contains(path, "/domain-");
}

void drop_alias(Editor& editor, const xmlNode* device) {
    const xmlNode* alias = child(device, "alias");
    if (alias != nullptr && !attribute(alias, "name").value_or("").starts_with("ua-")) {
        editor.elements.remove(alias);
    }
}

void fork_device(Editor& editor, xmlNode* device, const std::string& old_name) {
    drop_alias(editor, device);
    if (is_plain(device, "interface")) {
        fork_interface(editor, device);
    } else if (is_character_device(device)) {
        fork_character_device(editor, device, old_name);
    } else if (is_plain(device, "graphics")) {
        fork_graphics(editor, device);
    } else if (is_plain(device, "vsock")) {
        fork_vsock(editor, device);
    }
}

} // namespace vgpu::xml
