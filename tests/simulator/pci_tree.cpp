#include "tests/simulator/parse.hpp"
#include "tests/simulator/paths.hpp"
#include "tests/simulator/trees.hpp"
#include "tests/simulator/vendor_vfio.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <charconv>

namespace vgpu::simulator {

namespace {

struct FunctionDirectory {
    Host& host;
    std::shared_ptr<PciFunction> function;
    std::shared_ptr<Gpu> gpu; ///< if it is one
    std::shared_ptr<Vf> vf;   ///< if it is one
};

using Here = FunctionDirectory;

bool always(const Here&) {
    return true;
}

Node hex_file(std::uint32_t value, int digits) {
    return text_file(fmt::format("0x{:0{}x}\n", value, digits));
}

Node link_to(const Here& here, std::string_view target) {
    return link(relative_link(here.function->path, target));
}

bool has_sriov(const Here& here) {
    return here.gpu && here.gpu->total_vfs > 0;
}

/// The driver makes and removes its VFs itself: it has no callback for the kernel's own file, which
/// then answers ENOENT, after checks that come first.
int write_numvfs(const Gpu& gpu, std::string_view text) {
    const auto count = kernel_number(text);
    if (!count) {
        return count.error();
    }
    if (*count > gpu.total_vfs) {
        return ERANGE;
    }
    return *count == gpu.vfs.size() ? 0 : ENOENT;
}

Node numvfs_file(const Here& here) {
    return writable(
        [gpu = here.gpu]() -> Text { return fmt::format("{}\n", gpu->vfs.size()); },
        [gpu = here.gpu](Call&, std::string_view text) { return write_numvfs(*gpu, text); });
}

Node driver_override_file(const Here& here) {
    return writable(
        [function = here.function]() -> Text {
            const auto& driver = function->driver_override;
            return (driver.empty() ? "(null)" : driver) + "\n";
        },
        [function = here.function](Call&, std::string_view text) {
            function->driver_override = trimmed(text);
            return 0;
        });
}

std::string uevent(const PciFunction& function) {
    const auto& ids = function.ids;
    return fmt::format("{}PCI_CLASS={:X}\nPCI_ID={:04X}:{:04X}\nPCI_SUBSYS_ID={:04X}:{:04X}\n"
                       "PCI_SLOT_NAME={}\n",
                       function.driver.empty() ? "" : "DRIVER=" + function.driver + "\n",
                       ids.class_code, ids.vendor, ids.device, ids.vendor, ids.subsystem,
                       function.name);
}

constexpr Entry<Here> entries[] = {
    {"vendor", always, [](const Here& h) { return hex_file(h.function->ids.vendor, 4); }},
    {"device", always, [](const Here& h) { return hex_file(h.function->ids.device, 4); }},
    {"class", always, [](const Here& h) { return hex_file(h.function->ids.class_code, 6); }},
    {"revision", always, [](const Here&) { return hex_file(0xa1, 2); }},
    {"subsystem_vendor", always, [](const Here& h) { return hex_file(h.function->ids.vendor, 4); }},
    {"subsystem_device", always,
     [](const Here& h) { return hex_file(h.vf ? 0U : h.function->ids.subsystem, 4); }},
    {"numa_node", always,
     [](const Here& h) { return text_file(fmt::format("{}\n", h.function->numa_node)); }},
    {"uevent", always, [](const Here& h) { return text_file(uevent(*h.function)); }},
    {"driver_override", always, driver_override_file},
    {"subsystem", always, [](const Here& h) { return link_to(h, "bus/pci"); }},
    {"iommu_group", [](const Here& h) { return h.function->group >= 0; },
     [](const Here& h) { return iommu_group_link(*h.function); }},
    {"driver", [](const Here& h) { return !h.function->driver.empty(); },
     [](const Here& h) { return link_to(h, "bus/pci/drivers/" + h.function->driver); }},
    {"sriov_totalvfs", has_sriov,
     [](const Here& h) { return text_file(fmt::format("{}\n", h.gpu->total_vfs)); }},
    {"sriov_numvfs", has_sriov, numvfs_file},
    {"sriov_offset", has_sriov,
     [](const Here& h) { return text_file(fmt::format("{}\n", h.gpu->first_vf)); }},
    {"sriov_stride", has_sriov, [](const Here&) { return text_file("1\n"); }},
    {"sriov_vf_device", has_sriov,
     [](const Here& h) { return text_file(fmt::format("{:x}\n", h.gpu->ids.device)); }},
    {"physfn", [](const Here& h) { return h.vf && h.vf->gpu.lock(); },
     [](const Here& h) { return link_to(h, h.vf->gpu.lock()->path); }},
    {"nvidia",
     [](const Here& h) {
         return h.vf && h.vf->driver == "nvidia" && Inventory::is_vfio(*h.function);
     },
     [](const Here& h) { return nvidia_directory(h.host, h.vf); }},
    {"vfio-dev", [](const Here& h) { return h.function->vfio >= 0; },
     [](const Here& h) { return vfio_dev_directory(h.function); }},
    {"mdev_supported_types", [](const Here& h) { return Inventory::is_mdev_parent(*h.function); },
     [](const Here& h) { return mdev_types_directory(h.host, h.function); }},
};

std::optional<Node> find_virtfn(const Here& here, std::string_view name) {
    constexpr std::string_view prefix = "virtfn";
    if (!here.gpu || !name.starts_with(prefix)) {
        return std::nullopt;
    }
    name.remove_prefix(prefix.size());
    std::size_t index = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), index);
    if (error != std::errc{} || end != name.data() + name.size() || index >= here.gpu->vfs.size()) {
        return std::nullopt;
    }
    return link_to(here, here.gpu->vfs[index]->path);
}

std::optional<Node> find_in_function(const Here& here, const std::string& name) {
    if (auto node = find_entry(entries, here, name)) {
        return node;
    }
    if (auto node = find_virtfn(here, name)) {
        return node;
    }
    if (const auto mdev = here.function->mdevs.find(name); mdev != here.function->mdevs.end()) {
        return mdev_directory(here.host, mdev->second);
    }
    const auto* below = here.host.inventory.children(here.function->path);
    if (below != nullptr && below->contains(name)) {
        return function_directory(here.host, here.host.inventory.functions().find(name)->second);
    }
    return std::nullopt;
}

Names list_function(const Here& here) {
    std::vector<std::string> names;
    list_entries(entries, here, names);
    for (std::size_t i = 0; here.gpu && i < here.gpu->vfs.size(); ++i) {
        names.push_back(fmt::format("virtfn{}", i));
    }
    for (const auto& [uuid, mdev] : here.function->mdevs) {
        names.push_back(uuid);
    }
    if (const auto* below = here.host.inventory.children(here.function->path)) {
        names.insert(names.end(), below->begin(), below->end());
    }
    return names;
}

} // namespace

Node function_directory(Host& host, const std::shared_ptr<PciFunction>& function) {
    const Here here{host, function, std::dynamic_pointer_cast<Gpu>(function),
                    std::dynamic_pointer_cast<Vf>(function)};
    Node node = directory([here](const std::string& name) { return find_in_function(here, name); },
                          [here] { return list_function(here); });
    node.device = function;
    node.mode = 0755;
    return labelled(std::move(node), "device");
}

Node vfio_dev_directory(const std::shared_ptr<Device>& device) {
    return fixed_directory(
        {{fmt::format("vfio{}", device->vfio), [device] {
              return fixed_directory(
                  {{"dev", [device] { return text_file(fmt::format("511:{}\n", device->vfio)); }}});
          }}});
}

Node iommu_group_link(const Device& device) {
    return link(relative_link(device.path, fmt::format("kernel/iommu_groups/{}", device.group)));
}

} // namespace vgpu::simulator
