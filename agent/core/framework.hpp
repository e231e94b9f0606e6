#pragma once

#include "agent/core/catalogue.hpp"
#include "agent/core/claim.hpp"
#include "agent/core/config.hpp"
#include "agent/core/deadline.hpp"
#include "agent/core/locks.hpp"
#include "agent/core/proc.hpp"
#include "agent/core/sysfs.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace vgpu {

/// How vGPUs are made on a device. Chosen per device (framework_of), never for the host. An SR-IOV
/// VF with no type to write (another vendor's) would fit as well: type() 0, create() and reset() by
/// its own means.
///
/// Reads and writes of the driver's attributes may block as long as the driver does, unless the
/// Sysfs is a BoundedSysfs.
class Framework {
public:
    virtual ~Framework() = default;
    Framework(const Framework&) = delete;
    Framework& operator=(const Framework&) = delete;

    [[nodiscard]] virtual FrameworkKind kind() const = 0;
    /// The device below the sysfs root, e.g. "bus/pci/devices/0000:41:00.4".
    [[nodiscard]] virtual std::string path(const DeviceKey& key) const = 0;
    /// The type the device carries; 0 if it carries none or, an mdev, does not exist.
    [[nodiscard]] virtual Result<std::uint32_t> type(const DeviceKey& key) = 0;
    /// The nodes under which the device can be held open. Empty when it does not exist.
    [[nodiscard]] Result<DeviceNodes> nodes(const DeviceKey& key);
    /// The group's node among them only: enough for an exclusive open, and fewer calls.
    [[nodiscard]] Result<DeviceNodes> group_node(const DeviceKey& key);
    /// The types that can be created on `function` (a VF, or an mdev parent) now.
    [[nodiscard]] virtual Result<std::vector<VgpuType>> creatable(const PciAddress& function) = 0;
    /// Gives the clean device its type, on `function`, and reads it back; then `params`
    /// (vgpu_params) unless empty. After an error the device may or may not carry a type: the
    /// caller resets it.
    [[nodiscard]] virtual Result<void> create(const DeviceLock& lock, const PciAddress& function,
                                              const VgpuType& type, const std::string& params) = 0;
    /// Takes the type away and proves it: success means that the type reads 0, or that the mdev is
    /// gone. A refusal that is known to pass (EPERM, EBUSY, or no effect, shortly after a VMM's
    /// end) is retried until the deadline. `idle_for`: how long it is known that no VMM uses the
    /// device; some drivers remove an mdev themselves and must be given time to.
    [[nodiscard]] virtual Result<void> reset(const DeviceLock& lock, Deadline deadline,
                                             std::chrono::milliseconds idle_for) = 0;

protected:
    Framework(Sysfs& sysfs, const Config& config) : sysfs_(sysfs), config_(config) {}

    Sysfs& sysfs_;         // NOLINT(*-non-private-member-variables-in-classes)
    const Config& config_; // NOLINT(*-non-private-member-variables-in-classes)
};

/// The framework of a kind. `sysfs` and `config` must outlive it.
[[nodiscard]] std::unique_ptr<Framework> make_framework(FrameworkKind kind, Sysfs& sysfs,
                                                        const Config& config);

/// What an errno of a driver's attribute is known to mean, as a clause for an error: "the driver
/// ...". Empty if nothing is known. A hint for people only: whether a write worked is decided by
/// reading back.
[[nodiscard]] std::string_view driver_reason(int error_number);

} // namespace vgpu
