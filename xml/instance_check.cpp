#include "xml/domain_nodes.hpp"
#include "xml/instance.hpp"
#include "xml/instance_fields.hpp"
#include "xml/xml_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

namespace vgpu::xml {

namespace {

constexpr std::size_t max_title = 256;
constexpr std::size_t max_description = 8192;
constexpr std::size_t max_cmdline = 4096;
constexpr std::size_t max_profile = 256;
constexpr std::size_t max_params = 4096;
constexpr std::size_t max_interface = 15; // IFNAMSIZ without its NUL
constexpr std::uint32_t max_boot_order = 1000;
constexpr std::uint64_t min_memory_mib = 16;
constexpr std::uint64_t max_memory_mib = 16'777'216;
constexpr std::uint32_t max_vcpus = 4096;

/// The member of a list: "/disks/3/path".
std::string at(std::string_view list, std::size_t index, std::string_view member) {
    return fmt::format("/{}/{}/{}", list, index, member);
}

/// Boot orders count from 1 and belong to one device each.
Result<void> check_boot_order(std::string_view pointer, const std::optional<std::uint32_t>& order,
                              std::set<std::uint32_t>& taken) {
    if (!order) {
        return {};
    }
    if (*order == 0 || *order > max_boot_order) {
        return refuse(pointer, fmt::format("{} is not within 1 to {}", *order, max_boot_order));
    }
    if (!taken.insert(*order).second) {
        return refuse(pointer, fmt::format("another device has the boot order {} too", *order));
    }
    return {};
}

Result<void> check_count(std::string_view pointer, std::size_t count, std::size_t limit) {
    return count > limit
               ? refuse(pointer, fmt::format("{} entries; at most {} are allowed", count, limit))
               : Result<void>();
}

Result<void> check_disks(const InstanceRequest& request, std::set<std::uint32_t>& boot) {
    VGPU_TRY(check_count("/disks", request.disks.size(), max_instance_disks));
    std::set<std::string_view> writable;
    for (std::size_t i = 0; i < request.disks.size(); ++i) {
        const InstanceDisk& disk = request.disks[i];
        if (disk.path.empty()) {
            return refuse(at("disks", i, "path"), "missing");
        }
        VGPU_TRY(check_path(at("disks", i, "path"), disk.path));
        VGPU_TRY(check_choice(at("disks", i, "format"), disk.format, {"raw", "qcow2"}));
        if (disk.format.empty() && !disk.cdrom) {
            return refuse(at("disks", i, "format"),
                          "missing: say raw or qcow2; a format that is guessed from the content "
                          "would be the guest's to choose");
        }
        VGPU_TRY(check_choice(at("disks", i, "bus"), disk.bus, {"virtio", "scsi", "sata", "usb"}));
        if (disk.cdrom && disk.bus == "virtio") {
            return refuse(at("disks", i, "bus"), "there is no virtio CD-ROM; sata, scsi or usb");
        }
        VGPU_TRY(check_boot_order(at("disks", i, "boot_order"), disk.boot_order, boot));
        if (!disk.cdrom && !disk.readonly && !writable.insert(disk.path).second) {
            return refuse(at("disks", i, "path"), "the same writable disk is there twice");
        }
    }
    return check_path("/cloud_init_iso", request.cloud_init_iso);
}

Result<void> check_networks(const InstanceRequest& request, std::set<std::uint32_t>& boot) {
    VGPU_TRY(check_count("/networks", request.networks.size(), max_instance_networks));
    for (std::size_t i = 0; i < request.networks.size(); ++i) {
        const InstanceNetwork& card = request.networks[i];
        if (card.network.empty() == card.bridge.empty()) {
            return refuse(fmt::format("/networks/{}", i),
                          "exactly one of \"network\" and \"bridge\" is needed");
        }
        VGPU_TRY(check_text(at("networks", i, "network"), card.network, max_instance_name));
        VGPU_TRY(check_word(at("networks", i, "bridge"), card.bridge, max_interface));
        VGPU_TRY(check_mac(at("networks", i, "mac"), card.mac));
        VGPU_TRY(check_word(at("networks", i, "model"), card.model));
        VGPU_TRY(check_boot_order(at("networks", i, "boot_order"), card.boot_order, boot));
    }
    return {};
}

Result<void> check_gpus(const InstanceRequest& request) {
    VGPU_TRY(check_count("/gpus", request.gpus.size(), max_instance_gpus));
    std::set<std::string_view> names;
    for (std::size_t i = 0; i < request.gpus.size(); ++i) {
        const InstanceGpu& gpu = request.gpus[i];
        VGPU_TRY(check_text(at("gpus", i, "profile"), gpu.profile, max_profile));
        VGPU_TRY(check_text(at("gpus", i, "params"), gpu.params, max_params));
        if (const auto good = check_request(gpu); !good) {
            return fail(good.error().in(fmt::format("/gpus/{}", i)));
        }
        if (!names.insert(gpu.name).second) {
            return refuse(at("gpus", i, "name"), fmt::format("two vGPUs are called {}", gpu.name));
        }
        if (gpu.numa_node && *gpu.numa_node > 4095) {
            return refuse(at("gpus", i, "numa_node"), "not within 0 to 4095");
        }
        if (gpu.display && request.base_xml.empty() && request.graphics != "vnc") {
            return refuse(at("gpus", i, "display"),
                          "a display is shown on \"graphics\": \"vnc\", which is not asked for");
        }
    }
    return {};
}

Result<void> check_machine(const InstanceRequest& request) {
    VGPU_TRY(check_choice("/arch", request.arch, {"x86_64", "aarch64"}));
    VGPU_TRY(check_word("/machine", request.machine));
    VGPU_TRY(check_word("/cpu", request.cpu));
    if (request.virt_type == "qemu" && request.cpu.starts_with("host-")) {
        return refuse("/cpu", fmt::format("{} needs virt_type kvm", request.cpu));
    }
    VGPU_TRY(check_choice("/firmware", request.firmware, {"bios", "uefi"}));
    if (request.arch == "aarch64" && request.firmware == "bios") {
        return refuse("/firmware", "there is no BIOS for aarch64");
    }
    VGPU_TRY(check_choice("/graphics", request.graphics, {"vnc"}));
    VGPU_TRY(check_path("/kernel", request.kernel));
    VGPU_TRY(check_path("/initrd", request.initrd));
    VGPU_TRY(check_text("/cmdline", request.cmdline, max_cmdline));
    if (request.kernel.empty() && !(request.initrd.empty() && request.cmdline.empty())) {
        return refuse(request.initrd.empty() ? "/cmdline" : "/initrd", "needs a kernel");
    }
    VGPU_TRY(check_set("/numa/nodeset", request.numa.nodeset));
    VGPU_TRY(check_set("/numa/cpuset", request.numa.cpuset));
    VGPU_TRY(check_choice("/numa/mode", request.numa.mode,
                          {"strict", "preferred", "interleave", "restrictive"}));
    if (request.numa.nodeset.empty() && !request.numa.mode.empty()) {
        return refuse("/numa/mode", "needs a nodeset");
    }
    if (request.numa.mode == "preferred" &&
        request.numa.nodeset.find_first_of(",-") != std::string::npos) {
        return refuse("/numa/nodeset", "the mode preferred takes one node");
    }
    return {};
}

Result<void> check_size(const InstanceRequest& request) {
    if (request.vcpus == 0 || request.vcpus > max_vcpus) {
        return refuse("/vcpus", fmt::format("{} is not within 1 to {}", request.vcpus, max_vcpus));
    }
    if (request.memory_mib < min_memory_mib || request.memory_mib > max_memory_mib) {
        return refuse("/memory_mib", fmt::format("{} is not within {} to {}", request.memory_mib,
                                                 min_memory_mib, max_memory_mib));
    }
    return {};
}

/// With a base XML everything else is said there.
Result<void> check_base(const InstanceRequest& request) {
    if (request.base_xml.size() > max_domain_xml_bytes) {
        return refuse("/base_xml", fmt::format("{} bytes; at most {} are read",
                                               request.base_xml.size(), max_domain_xml_bytes));
    }
    const std::pair<bool, const char*> said[] = {
        {!request.title.empty(), "title"},
        {!request.description.empty(), "description"},
        {request.vcpus != 0, "vcpus"},
        {request.memory_mib != 0, "memory_mib"},
        {!request.arch.empty(), "arch"},
        {!request.machine.empty(), "machine"},
        {!request.cpu.empty(), "cpu"},
        {!request.firmware.empty(), "firmware"},
        {!request.disks.empty(), "disks"},
        {!request.networks.empty(), "networks"},
        {request.numa != InstanceNuma(), "numa"},
        {!request.console, "console"},
        {!request.graphics.empty(), "graphics"},
        {!request.cloud_init_iso.empty(), "cloud_init_iso"},
        {!request.kernel.empty(), "kernel"},
        {!request.initrd.empty(), "initrd"},
        {!request.cmdline.empty(), "cmdline"},
    };
    for (const auto& [is_said, field] : said) {
        if (is_said) {
            return refuse(fmt::format("/{}", field),
                          "conflicts with base_xml, which says it: change it there");
        }
    }
    return {};
}

} // namespace

Result<void> check_instance_name(const std::string& name) {
    if (name.empty() || name.find_first_not_of(' ') == name.npos) {
        return fail(ErrorCode::invalid, "the name is empty");
    }
    if (name.size() > max_instance_name) {
        return fail(ErrorCode::invalid, fmt::format("the name has {} bytes; at most {} are allowed",
                                                    name.size(), max_instance_name));
    }
    if (!fits_xml(name)) {
        return fail(ErrorCode::invalid,
                    "the name is not UTF-8, or holds a control character or line break");
    }
    if (name.find('/') != name.npos || name == "." || name == "..") {
        return fail(ErrorCode::invalid, fmt::format("\"{}\" cannot be a domain's name: libvirt "
                                                    "makes file names of it",
                                                    printable(name, 80)));
    }
    return {};
}

Result<void> check_instance_request(const InstanceRequest& request) {
    if (const auto good = check_instance_name(request.name); !good) {
        return fail(good.error().in("/name"));
    }
    VGPU_TRY(check_choice("/virt_type", request.virt_type, {"kvm", "qemu"}));
    VGPU_TRY(check_choice("/policy", request.policy, {"spread", "pack"}));
    VGPU_TRY(check_gpus(request));
    if (!request.base_xml.empty()) {
        return check_base(request);
    }
    VGPU_TRY(check_text("/title", request.title, max_title));
    VGPU_TRY(check_text("/description", request.description, max_description, true));
    VGPU_TRY(check_size(request));
    VGPU_TRY(check_machine(request));
    std::set<std::uint32_t> boot;
    VGPU_TRY(check_disks(request, boot));
    return check_networks(request, boot);
}

} // namespace vgpu::xml
