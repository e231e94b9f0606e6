#pragma once

#include "agent/core/framework.hpp"

namespace vgpu {

/// NVIDIA's vendor-specific VFIO framework: a VF gets a type by a write of its id to
/// `nvidia/current_vgpu_type`, and loses it by a write of 0. The VF stays bound to the driver
/// `nvidia` throughout.
class VendorVfio final : public Framework {
public:
    VendorVfio(Sysfs& sysfs, const Config& config) : Framework(sysfs, config) {}

    FrameworkKind kind() const override { return FrameworkKind::vendor_vfio; }
    std::string path(const DeviceKey& key) const override;
    Result<std::uint32_t> type(const DeviceKey& key) override;
    Result<std::vector<VgpuType>> creatable(const PciAddress& function) override;
    Result<void> create(const DeviceLock& lock, const PciAddress& function, const VgpuType& type,
                        const std::string& params) override;
    Result<void> reset(const DeviceLock& lock, Deadline deadline,
                       std::chrono::milliseconds idle_for) override;
};

} // namespace vgpu
