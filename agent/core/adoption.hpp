#pragma once

#include "agent/core/prepare.hpp"

namespace vgpu {

/// A device that a running domain has according to its XML.
struct RunningDevice {
    DeviceKey device;
    std::string name;    ///< of the request; empty for a foreign device
    std::string profile; ///< of the request; empty for a foreign device
};

struct AdoptionOutcome {
    DeviceKey device;
    Result<bool> result; ///< true: a claim was made; false: there was one already, or it is no vGPU
                         ///< of ours to protect
};

/// Gives each vGPU of a running domain that has no claim one, state `configured`, with its VMM if
/// that is seen (the hook's `reconnect`, the daemon's adoption). A device without a request becomes
/// a claim with managed: false. Never touches a device. A claim of another domain is left alone and
/// reported. `check` is made under each device lock.
[[nodiscard]] std::vector<AdoptionOutcome> adopt_domain(Host& host, const Uuid& domain,
                                                        const std::string& name,
                                                        const std::vector<RunningDevice>& devices,
                                                        const Check& check, Deadline deadline);

/// Writes the VMM that runs now into the domain's configured claims (the hook's `started`). A VMM
/// that is not seen alive is not recorded. Devices whose lock is not free in time are left out.
/// Returns how many claims have been written.
[[nodiscard]] Result<int> record_vmm(Host& host, const Uuid& domain, const std::string& name,
                                     const Check& check, Deadline deadline);

} // namespace vgpu
