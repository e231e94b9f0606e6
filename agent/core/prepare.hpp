#pragma once

#include "agent/core/host.hpp"

#include <optional>
#include <string>
#include <vector>

namespace vgpu {

/// One vGPU that a starting domain asks for, and the device its XML points at.
struct WantedDevice {
    std::string name;              ///< "vgpu0"
    std::string profile;           ///< as requested
    std::optional<PciAddress> gpu; ///< only from this GPU (PF)
    std::string params;            ///< vgpu_params, empty if none
    DeviceKey device;
};

struct PrepareRequest {
    Uuid domain;
    std::string name;
    std::vector<WantedDevice> wanted;
    /// vGPUs in the XML that are no request of ours: protected by a claim, never written to.
    std::vector<DeviceKey> foreign;
};

/// Claims and configures all devices of a starting domain, or none (steps P1 to P6 of
/// docs/protocol.md): takes the locks, makes `check`, looks at every device, claims all, cleans and
/// configures each, reads back. On failure what was done is undone; a device that refuses its reset
/// stays claimed as `draining`. Error: what, which device, who holds it, what to do. A device whose
/// driver does not come back keeps its lock through the process that waits for it, if host.sysfs is
/// a BoundedSysfs.
///
/// Cost, when every device is a VF: independent of the number of VFs, claims and processes of the
/// host, unless a device is dirty, was claimed before, or its profile cannot be created.
[[nodiscard]] Result<std::vector<Claim>> prepare_domain(Host& host, const PrepareRequest& request,
                                                        const Check& check, Deadline deadline);

} // namespace vgpu
