#pragma once

#include "tests/simulator/host.hpp"

namespace vgpu::simulator {

/// The four parts of the mount.
Node sys_tree(Host& host);
Node dev_tree(Host& host);
Node proc_tree(Host& host);
Node control_file(Host& host);

/// The directory of a PCI function, with everything its driver adds.
Node function_directory(Host& host, const std::shared_ptr<PciFunction>& function);
/// The directory of an mdev.
Node mdev_directory(Host& host, const std::shared_ptr<Mdev>& mdev);
/// `mdev_supported_types` of a parent.
Node mdev_types_directory(Host& host, const std::shared_ptr<PciFunction>& parent);
/// `vfio-dev`, which names a device's cdev.
Node vfio_dev_directory(const std::shared_ptr<Device>& device);
/// `iommu_group`, a link.
Node iommu_group_link(const Device& device);

/// A directory with a fixed set of entries.
Node fixed_directory(std::vector<std::pair<std::string, std::function<Node()>>> entries);

/// The names a map is indexed by.
template <typename Map>
std::vector<std::string> keys(const Map& map) {
    std::vector<std::string> names;
    names.reserve(map.size());
    for (const auto& [key, value] : map) {
        names.push_back(key);
    }
    return names;
}

} // namespace vgpu::simulator
