#include "xml/domain_nodes.hpp"
#include "xml/fork_steps.hpp"
#include "xml/instance_fields.hpp"

#include <fmt/format.h>

#include <set>
#include <vector>

namespace vgpu::xml {

namespace {

/// A <disk>, or a memory module whose content is a file.
struct Storage {
    xmlNode* element;
    xmlNode* source;  ///< null for an empty drive
    std::string path; ///< of a file or block device; empty for other kinds
    std::string name; ///< for messages
    bool writable;
    bool is_disk;
};

Storage read_disk(xmlNode* disk) {
    Storage storage{disk, child(disk, "source"), "", "", true, true};
    const xmlNode* target = child(disk, "target");
    storage.name = target == nullptr ? "disk" : attribute(target, "dev").value_or("disk");
    if (storage.source != nullptr) {
        const std::string type = attribute(disk, "type").value_or("file");
        const char* key = type == "block" ? "dev" : type == "dir" ? "dir" : "file";
        storage.path = attribute(storage.source, key).value_or("");
    }
    storage.writable = storage.source != nullptr && child(disk, "readonly") == nullptr &&
                       child(disk, "shareable") == nullptr && attribute(disk, "device") != "cdrom";
    return storage;
}

/// An NVDIMM keeps in its file what the guest writes.
bool is_persistent_memory(const xmlNode* device) {
    const std::string model = attribute(device, "model").value_or("");
    return is_plain(device, "memory") && (model == "nvdimm" || model == "virtio-pmem");
}

Storage read_memory(xmlNode* memory) {
    Storage storage{memory, child(memory, "source"), "", "persistent memory", true, false};
    const xmlNode* path = storage.source == nullptr ? nullptr : child(storage.source, "path");
    const xmlNode* target = child(memory, "target");
    storage.path = path == nullptr ? std::string() : content(path);
    storage.writable = path != nullptr && child(memory, "readonly") == nullptr &&
                       (target == nullptr || child(target, "readonly") == nullptr);
    return storage;
}

std::vector<Storage> all_storage(const xmlNode* domain) {
    std::vector<Storage> found;
    for (const xmlNode* devices = first_element(domain); devices != nullptr;
         devices = next_element(devices)) {
        if (!is_plain(devices, "devices")) {
            continue;
        }
        for (xmlNode* device = first_element(devices); device != nullptr;
             device = next_element(device)) {
            if (is_plain(device, "disk")) {
                found.push_back(read_disk(device));
            } else if (is_persistent_memory(device)) {
                found.push_back(read_memory(device));
            }
        }
    }
    return found;
}

/// A file may become a block device and the other way round.
void point_disk(Editor& editor, const Storage& disk, const std::string& path) {
    const std::string type = attribute(disk.element, "type").value_or("file");
    const bool block = path.starts_with("/dev/");
    const char* key = block ? "dev" : "file";
    TagEdit source(editor.document, disk.source, editor.edits);
    if (type != (block ? "block" : "file")) {
        TagEdit(editor.document, disk.element, editor.edits)
            .overwrite("type", block ? "block" : "file");
        for (const char* old_key : {"dev", "file", "dir"}) {
            if (old_key != std::string_view(key)) {
                source.remove(old_key);
            }
        }
    }
    source.overwrite(key, path);
    source.remove("index");
    // What lies under the old file says nothing of the new one; libvirt looks for itself.
    if (const xmlNode* backing = child(disk.element, "backingStore")) {
        editor.elements.remove(backing);
    }
}

void point(Editor& editor, const Storage& storage, const std::string& path) {
    if (storage.is_disk) {
        point_disk(editor, storage, path);
        return;
    }
    const ElementSpan& span = editor.document.span(child(storage.source, "path"));
    editor.edits.replace(span.open_end, span.close_begin, escaped(path));
}

Error unmapped(const Storage& storage) {
    const std::string what =
        storage.path.empty()
            ? std::string("which is no local file and cannot be mapped")
            : fmt::format("{}, which is not mapped to another path", printable(storage.path));
    return {ErrorCode::conflict,
            fmt::format("both domains would write to {} ({}) and corrupt it: copy it and map it, "
                        "or share it knowingly",
                        printable(storage.name, 40), what)};
}

Result<void> check_mapping(const ForkOptions& options, const std::vector<Storage>& all) {
    std::set<std::string> present;
    for (const Storage& storage : all) {
        present.insert(storage.path);
    }
    std::set<std::string> used;
    for (const auto& [from, to] : options.disks) {
        if (from.empty() || !present.contains(from)) {
            return fail(ErrorCode::not_found,
                        fmt::format("no disk has the path {}", printable(from)));
        }
        if (to.empty()) {
            return fail(ErrorCode::invalid,
                        fmt::format("{} is mapped to nothing", printable(from)));
        }
        VGPU_TRY(check_path(fmt::format("the new path of {}", printable(from)), to));
        if (present.contains(to) || !used.insert(to).second) {
            return fail(ErrorCode::conflict,
                        fmt::format("{} cannot become {}, which another disk of the two domains "
                                    "has",
                                    printable(from), printable(to)));
        }
    }
    return {};
}

} // namespace

Result<void> fork_disks(Editor& editor, const ForkOptions& options) {
    const std::vector<Storage> all = all_storage(editor.domain);
    VGPU_TRY(check_mapping(options, all));
    for (const Storage& storage : all) {
        const auto mapped = options.disks.find(storage.path);
        if (mapped != options.disks.end()) {
            point(editor, storage, mapped->second);
        } else if (storage.writable && !options.share_disks) {
            return fail(unmapped(storage));
        }
        if (storage.is_disk) {
            drop_alias(editor, storage.element);
            // A copy job of the running source.
            if (const xmlNode* mirror = child(storage.element, "mirror")) {
                editor.elements.remove(mirror);
            }
        }
    }
    return {};
}

} // namespace vgpu::xml
