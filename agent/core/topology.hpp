#pragma once

#include "agent/core/claim.hpp"
#include "agent/core/ids.hpp"
#include "agent/core/sysfs.hpp"

#include <optional>
#include <string>
#include <vector>

namespace vgpu {

/// "bus/pci/devices/<address>", relative to the sysfs root.
[[nodiscard]] std::string pci_path(const PciAddress& function);

/// The framework that a function offers, nullopt if it offers none: `nvidia/current_vgpu_type`
/// makes a vendor-vfio VF, `mdev_supported_types` an mdev parent. Decided per function, never for
/// the host: before VFs exist both kinds of host look the same. Error: the function is not there
/// (not_found), or cannot be looked at; never a guess.
[[nodiscard]] Result<std::optional<FrameworkKind>> framework_of(Sysfs& sysfs,
                                                                const PciAddress& function);

/// An error unless sysfs lists PCI devices at all: only then does the absence of one mean that it
/// is gone. A root that is empty, not mounted or not sysfs proves nothing.
[[nodiscard]] Result<void> absence_counts(Sysfs& sysfs);

/// The PF of a VF (its `physfn`), or the function itself if it is no VF.
[[nodiscard]] Result<PciAddress> gpu_of(Sysfs& sysfs, const PciAddress& function);

/// The VFs of a PF in the order of their numbers (virtfn10 after virtfn9); addresses cannot be
/// computed. Empty when SR-IOV is off or unknown to the device.
[[nodiscard]] Result<std::vector<PciAddress>> vfs_of(Sysfs& sysfs, const PciAddress& gpu);

/// NUMA node of a function, -1 if the kernel knows none (or the attribute cannot be read).
[[nodiscard]] int numa_node_of(Sysfs& sysfs, const PciAddress& function);

/// Name of the bound driver, empty if there is none.
[[nodiscard]] Result<std::string> driver_of(Sysfs& sysfs, const PciAddress& function);

/// "10de:26b9:10de:1851": what identifies the card model of a PF, for the catalogue memory.
[[nodiscard]] Result<std::string> model_of(Sysfs& sysfs, const PciAddress& gpu);

} // namespace vgpu
