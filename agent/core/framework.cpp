#include "agent/core/framework.hpp"

#include "agent/core/mdev.hpp"
#include "agent/core/vendor_vfio.hpp"

#include <fmt/format.h>

#include <cerrno>

namespace vgpu {

std::unique_ptr<Framework> make_framework(FrameworkKind kind, Sysfs& sysfs, const Config& config) {
    if (kind == FrameworkKind::mdev) {
        return std::make_unique<Mdev>(sysfs, config);
    }
    return std::make_unique<VendorVfio>(sysfs, config);
}

Result<DeviceNodes> Framework::group_node(const DeviceKey& key) {
    DeviceNodes nodes;
    const auto group = sysfs_.read_link(path(key) + "/iommu_group");
    if (group) {
        nodes.group =
            fmt::format("{}/vfio/{}", config_.paths.dev, group->substr(group->rfind('/') + 1));
        nodes.paths.push_back(nodes.group);
    } else if (group.error().error_number() != ENOENT) {
        return fail(group.error());
    }
    return nodes;
}

Result<DeviceNodes> Framework::nodes(const DeviceKey& key) {
    VGPU_TRY_ASSIGN(DeviceNodes nodes, group_node(key));
    const auto devices = sysfs_.list(path(key) + "/vfio-dev");
    if (devices) {
        for (const std::string& name : *devices) {
            nodes.paths.push_back(fmt::format("{}/vfio/devices/{}", config_.paths.dev, name));
        }
    } else if (devices.error().error_number() != ENOENT) {
        return fail(devices.error());
    }
    return nodes;
}

std::string_view driver_reason(int error_number) {
    switch (error_number) {
    case EIO:
        // cubecos#1223 (MIG mode without GPU instances), hypeman GPU.md (a VF that was unbound and
        // bound again).
        return "the driver refused: on a MIG GPU this means that no GPU instance fits, on a VF "
               "that was unbound from the nvidia "
               "driver that SR-IOV must be cycled; the kernel log has the driver's own words";
    case EPERM:
    case EACCES:
        return "the driver does not allow it now: a VM's teardown may still be under way";
    case EBUSY:
        return "the driver says that the device is in use";
    case EINVAL:
        return "the driver cannot create this type here now: the GPU is full, or carries vGPUs of "
               "another framebuffer size";
    case ENODEV:
    case ENXIO:
        return "the device has gone, or its driver has";
    case ENOSPC:
    case ENOMEM:
        return "the GPU has no room left for it";
    default:
        return {};
    }
}

} // namespace vgpu
