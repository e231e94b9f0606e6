#pragma once

#include "agent/core/framework.hpp"

namespace vgpu {

/// The kernel's mediated device framework: an mdev is made by a write of its UUID to a type's
/// `create`, and removed by a write to its own `remove`. On SR-IOV cards each VF is a parent of
/// one; on older ones the PF is a parent of many.
class Mdev final : public Framework {
public:
    Mdev(Sysfs& sysfs, const Config& config) : Framework(sysfs, config) {}

    FrameworkKind kind() const override { return FrameworkKind::mdev; }
    std::string path(const DeviceKey& key) const override;
    Result<std::uint32_t> type(const DeviceKey& key) override;
    /// Types with available_instances above 0. The name falls back to the type's directory when the
    /// driver gives none.
    Result<std::vector<VgpuType>> creatable(const PciAddress& function) override;
    Result<void> create(const DeviceLock& lock, const PciAddress& function, const VgpuType& type,
                        const std::string& params) override;
    Result<void> reset(const DeviceLock& lock, Deadline deadline,
                       std::chrono::milliseconds idle_for) override;

    /// All types of a parent, creatable now or not.
    [[nodiscard]] Result<std::vector<VgpuType>> supported(const PciAddress& function);
    /// The function that an existing mdev lives on; nullopt if it does not exist.
    [[nodiscard]] Result<std::optional<PciAddress>> parent(const Uuid& mdev);
    /// How long the driver must be given to remove an mdev itself after its VMM ended: 10 s for
    /// GRID 14.4 and 15.x (driver 510.108 and 525.*), which otherwise keep the vGPU allocated until
    /// the next reboot (Proxmox qemu-server 49c51a60).
    [[nodiscard]] std::chrono::milliseconds self_removal();

private:
    [[nodiscard]] Result<std::vector<VgpuType>> types(const PciAddress& function,
                                                      bool only_available);
    [[nodiscard]] Result<std::string> type_directory(const PciAddress& function, std::uint32_t id);
    [[nodiscard]] Result<bool> wait_until_gone(const std::string& device, Deadline deadline);
};

} // namespace vgpu
