#include "agent/core/inventory.hpp"

#include "agent/core/inventory_devices.hpp"
#include "agent/core/profile_name.hpp"
#include "agent/core/suspects.hpp"
#include "agent/core/topology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <string_view>
#include <utility>

namespace vgpu {

namespace {

constexpr std::string_view nvidia_vendor = "0x10de";
constexpr std::string_view display_class = "0x03";

std::string last_part(const std::string& path) {
    return path.substr(path.rfind('/') + 1);
}

/// True for an NVIDIA display function that is no VF. A GPU has other functions (audio, USB), and a
/// VF may have the same ids as its PF.
Result<bool> is_gpu(Sysfs& sysfs, const PciAddress& function) {
    const std::string path = pci_path(function);
    const auto physfn = sysfs.read_link(path + "/physfn");
    if (physfn) {
        return false;
    }
    VGPU_TRY_ASSIGN(const std::string vendor, sysfs.read(path + "/vendor"));
    if (vendor != nvidia_vendor) {
        return false;
    }
    VGPU_TRY_ASSIGN(const std::string kind, sysfs.read(path + "/class"));
    return std::string_view(kind).starts_with(display_class);
}

Result<std::vector<PciAddress>> gpus_of_host(const Host& host, Inventory& inventory) {
    VGPU_TRY_ASSIGN(const auto names, host.sysfs.list("bus/pci/devices"));
    std::vector<PciAddress> gpus;
    for (const std::string& name : names) {
        const auto address = PciAddress::parse(name);
        if (!address) {
            continue;
        }
        const auto gpu = is_gpu(host.sysfs, *address);
        if (!gpu) {
            inventory.problems.push_back(
                fmt::format("{} is left out: {}", name, gpu.error().text()));
        } else if (*gpu) {
            gpus.push_back(*address);
        }
    }
    std::sort(gpus.begin(), gpus.end());
    return gpus;
}

/// A number of VFs; 0 where the PF has no such attribute.
int count_in(Sysfs& sysfs, const PciAddress& gpu, const char* attribute) {
    const auto text = sysfs.read(pci_path(gpu) + "/" + attribute);
    int value = 0;
    if (text) {
        std::from_chars(text->data(), text->data() + text->size(), value);
    }
    return value;
}

void add_reason(GpuInfo& gpu, const std::string& text) {
    gpu.reason += (gpu.reason.empty() ? "" : "; ") + text;
}

GpuInfo base_gpu(const Host& host, const PciAddress& address) {
    GpuInfo gpu;
    gpu.address = address;
    gpu.managed = host.config.manages(address, address);
    gpu.numa_node = numa_node_of(host.sysfs, address);
    gpu.total_vfs = count_in(host.sysfs, address, "sriov_totalvfs");
    const auto driver = driver_of(host.sysfs, address);
    if (driver) {
        gpu.driver = *driver;
    } else {
        add_reason(gpu, driver.error().text());
    }
    const auto model = model_of(host.sysfs, address);
    if (model) {
        gpu.model = *model;
    } else {
        add_reason(gpu, model.error().text());
    }
    return gpu;
}

/// Says why nothing can be made on the GPU, as far as sysfs tells.
void explain(GpuInfo& gpu, const std::vector<DeviceInfo>& rows) {
    if (gpu.framework) {
        const bool any = std::any_of(rows.begin(), rows.end(), [](const DeviceInfo& row) {
            return !row.offers.empty() || row.allocated();
        });
        if (!any) {
            add_reason(gpu,
                       "offers no vGPU type: if it is in MIG mode it has no GPU instances yet");
        }
        return;
    }
    if (gpu.driver != "nvidia") {
        add_reason(gpu, gpu.driver.empty() ? "no driver is bound to it"
                                           : "it is bound to the driver " + gpu.driver);
    } else if (gpu.vfs == 0 && gpu.total_vfs > 0) {
        add_reason(gpu, fmt::format("SR-IOV is off: none of its {} VFs is enabled", gpu.total_vfs));
    } else if (gpu.vfs > 0) {
        add_reason(gpu, "its VFs have neither nvidia/current_vgpu_type nor mdev_supported_types");
    } else {
        add_reason(gpu, "the driver makes no vGPUs of it: neither SR-IOV nor mdev_supported_types");
    }
}

void add_framework(GpuInfo& gpu, const std::vector<DeviceInfo>& rows) {
    for (const DeviceInfo& row : rows) {
        if (row.framework && gpu.framework && row.framework != gpu.framework) {
            add_reason(gpu, "its VFs have different frameworks");
            return;
        }
        gpu.framework = row.framework ? row.framework : gpu.framework;
    }
}

/// Learns what one row offers. "nvidia-742" stands for a name that could not be read: that is no
/// reason to forget one, and one that is remembered takes its place.
void learn(const GpuInfo& gpu, DeviceInfo& row, CatalogueMemory& memory) {
    std::vector<VgpuType> named;
    for (OfferedType& offered : row.offers) {
        if (!requested_type_id(offered.type.name)) {
            named.push_back(offered.type);
        } else if (const auto name = memory.name(gpu.model, offered.type.id)) {
            offered.type.name = *name;
        }
    }
    memory.learn(gpu.model, named);
}

/// The driver's lists come first: what was remembered may be of another driver release.
void add_types(GpuInfo& gpu, std::vector<DeviceInfo>& rows, CatalogueMemory& memory) {
    for (DeviceInfo& row : rows) {
        learn(gpu, row, memory);
        for (const OfferedType& offered : row.offers) {
            gpu.types.push_back(offered.type);
            gpu.framebuffer_mib = std::max(gpu.framebuffer_mib, offered.framebuffer_mib);
        }
    }
    const auto remembered = memory.types(gpu.model);
    gpu.types.insert(gpu.types.end(), remembered.begin(), remembered.end());
    std::sort(gpu.types.begin(), gpu.types.end());
    gpu.types.erase(std::unique(gpu.types.begin(), gpu.types.end()), gpu.types.end());
    for (const VgpuType& type : gpu.types) {
        gpu.framebuffer_mib = std::max(gpu.framebuffer_mib, framebuffer_mib(type.name));
    }
}

void add_name(GpuInfo& gpu) {
    for (const VgpuType& type : gpu.types) {
        if (const auto parsed = ProfileName::parse(type.name)) {
            gpu.name = "NVIDIA " + parsed->board;
            return;
        }
    }
    gpu.name = gpu.model.empty() ? "NVIDIA" : "PCI " + gpu.model.substr(0, 9);
}

void name_type(const GpuInfo& gpu, DeviceInfo& row) {
    if (!row.type_id || *row.type_id == 0) {
        return;
    }
    if (row.claim && row.claim->claim && row.claim->claim->type_id == row.type_id) {
        row.profile = row.claim->claim->profile;
        return;
    }
    const auto found =
        std::find_if(gpu.types.begin(), gpu.types.end(),
                     [&row](const VgpuType& type) { return type.id == *row.type_id; });
    if (found != gpu.types.end()) {
        row.profile = found->name;
    }
}

void add_gpu(const Surroundings& around, const PciAddress& address, CatalogueMemory& memory,
             Inventory& inventory) {
    GpuInfo gpu = base_gpu(around.host, address);
    std::vector<DeviceInfo> rows = rows_of(around, address, address);
    const auto vfs = vfs_of(around.host.sysfs, address);
    if (!vfs) {
        add_reason(gpu, vfs.error().text());
    } else {
        gpu.vfs = static_cast<int>(vfs->size());
        for (const PciAddress& vf : *vfs) {
            auto more = rows_of(around, vf, address);
            std::move(more.begin(), more.end(), std::back_inserter(rows));
        }
    }
    add_framework(gpu, rows);
    explain(gpu, rows);
    add_types(gpu, rows, memory);
    add_name(gpu);
    for (DeviceInfo& row : rows) {
        name_type(gpu, row);
        gpu.allocated += row.allocated() ? 1 : 0;
    }
    inventory.gpus.push_back(std::move(gpu));
    std::move(rows.begin(), rows.end(), std::back_inserter(inventory.devices));
}

void add_holders(const Host& host, Inventory& inventory) {
    std::vector<std::string> nodes;
    for (const DeviceInfo& row : inventory.devices) {
        nodes.insert(nodes.end(), row.nodes.paths.begin(), row.nodes.paths.end());
    }
    const HolderScan scan = nodes.empty() ? HolderScan() : scan_holders(host.proc, nodes);
    if (scan.incomplete) {
        inventory.problems.push_back(
            fmt::format("not all processes could be looked at, so it is not known of every device "
                        "whether it is in use: {}",
                        scan.incomplete->text()));
    }
    for (DeviceInfo& row : inventory.devices) {
        for (const std::string& node : row.nodes.paths) {
            if (const auto found = scan.holders.find(node); found != scan.holders.end()) {
                row.holder = found->second;
            }
        }
        if (row.holder) {
            row.in_use = true;
        } else if (!scan.incomplete && row.type_id) {
            row.in_use = false;
        }
    }
}

} // namespace

std::string DeviceInfo::iommu_group() const {
    return nodes.group.empty() ? std::string() : last_part(nodes.group);
}

std::string DeviceInfo::cdev() const {
    const auto found =
        std::find_if(nodes.paths.begin(), nodes.paths.end(),
                     [this](const std::string& path) { return path != nodes.group; });
    return found == nodes.paths.end() ? std::string() : *found;
}

const GpuInfo* Inventory::gpu(const PciAddress& address) const {
    const auto found = std::find_if(gpus.begin(), gpus.end(), [&address](const GpuInfo& gpu) {
        return gpu.address == address;
    });
    return found == gpus.end() ? nullptr : &*found;
}

Result<Inventory> take_inventory(const Host& host, CatalogueMemory& memory) {
    Inventory inventory;
    VGPU_TRY_ASSIGN(const auto gpus, gpus_of_host(host, inventory));
    const Surroundings around = look_around(host, inventory);
    for (const PciAddress& gpu : gpus) {
        add_gpu(around, gpu, memory, inventory);
    }
    add_holders(host, inventory);
    const auto marked = suspects(host.config.paths, host.boot_id);
    for (DeviceInfo& row : inventory.devices) {
        row.suspect = marked.contains(row.key());
    }
    return inventory;
}

} // namespace vgpu
