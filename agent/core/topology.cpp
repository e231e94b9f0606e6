#include "agent/core/topology.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <map>
#include <string_view>

namespace vgpu {

namespace {

std::string basename_of(const std::string& path) {
    return path.substr(path.rfind('/') + 1);
}

std::string_view without_0x(std::string_view text) {
    return text.starts_with("0x") ? text.substr(2) : text;
}

} // namespace

std::string pci_path(const PciAddress& function) {
    return "bus/pci/devices/" + function.to_string();
}

Result<std::optional<FrameworkKind>> framework_of(Sysfs& sysfs, const PciAddress& function) {
    const std::string path = pci_path(function);
    VGPU_TRY_ASSIGN(const bool vendor, sysfs.exists(path + "/nvidia/current_vgpu_type"));
    if (vendor) {
        return std::optional(FrameworkKind::vendor_vfio);
    }
    VGPU_TRY_ASSIGN(const bool mdev, sysfs.exists(path + "/mdev_supported_types"));
    if (mdev) {
        return std::optional(FrameworkKind::mdev);
    }
    VGPU_TRY_ASSIGN(const bool present, sysfs.exists(path));
    if (!present) {
        return fail(ErrorCode::not_found,
                    fmt::format("there is no PCI device {}", function.to_string()));
    }
    return std::optional<FrameworkKind>();
}

Result<void> absence_counts(Sysfs& sysfs) {
    const std::string devices = "bus/pci/devices";
    const auto all = sysfs.list(devices);
    if (all && !all->empty()) {
        return {};
    }
    return fail(ErrorCode::unavailable,
                fmt::format("{} {}, so nothing can be said of its devices: it is not mounted, or "
                            "[paths] sysfs is wrong",
                            sysfs.absolute(devices), all ? "lists nothing" : "cannot be listed"));
}

Result<PciAddress> gpu_of(Sysfs& sysfs, const PciAddress& function) {
    const auto link = sysfs.read_link(pci_path(function) + "/physfn");
    if (link) {
        return PciAddress::parse(basename_of(*link));
    }
    if (link.error().error_number() == ENOENT) {
        return function;
    }
    return fail(link.error());
}

Result<std::vector<PciAddress>> vfs_of(Sysfs& sysfs, const PciAddress& gpu) {
    const std::string path = pci_path(gpu);
    VGPU_TRY_ASSIGN(const auto names, sysfs.list(path));
    constexpr std::string_view prefix = "virtfn";
    std::map<unsigned, PciAddress> by_number;
    for (const std::string& name : names) {
        if (!name.starts_with(prefix)) {
            continue;
        }
        unsigned number = 0;
        const char* end = name.data() + name.size();
        const auto parsed = std::from_chars(name.data() + prefix.size(), end, number);
        if (parsed.ec != std::errc() || parsed.ptr != end) {
            continue;
        }
        VGPU_TRY_ASSIGN(const std::string link, sysfs.read_link(path + "/" + name));
        VGPU_TRY_ASSIGN(by_number[number], PciAddress::parse(basename_of(link)));
    }
    std::vector<PciAddress> vfs;
    vfs.reserve(by_number.size());
    for (const auto& [number, address] : by_number) {
        vfs.push_back(address);
    }
    return vfs;
}

int numa_node_of(Sysfs& sysfs, const PciAddress& function) {
    const auto text = sysfs.read(pci_path(function) + "/numa_node");
    int node = -1;
    if (text) {
        std::from_chars(text->data(), text->data() + text->size(), node);
    }
    return node;
}

Result<std::string> driver_of(Sysfs& sysfs, const PciAddress& function) {
    const auto link = sysfs.read_link(pci_path(function) + "/driver");
    if (link) {
        return basename_of(*link);
    }
    if (link.error().error_number() == ENOENT) {
        return std::string();
    }
    return fail(link.error());
}

Result<std::string> model_of(Sysfs& sysfs, const PciAddress& gpu) {
    std::string model;
    for (const char* attribute : {"vendor", "device", "subsystem_vendor", "subsystem_device"}) {
        VGPU_TRY_ASSIGN(const std::string value, sysfs.read(pci_path(gpu) + "/" + attribute));
        if (!model.empty()) {
            model += ':';
        }
        model += without_0x(value);
    }
    return model;
}

} // namespace vgpu
