#pragma once

#include "agent/core/claim.hpp"
#include "agent/hypervisor/domain_control.hpp"
#include "xml/domain.hpp"

#include <optional>
#include <string>
#include <vector>

namespace vgpu {

/// One vGPU of an instance, as it is now.
struct InstanceGpuState {
    std::string name;                       ///< "vgpu0"
    std::string profile;                    ///< as requested, or as claimed
    std::optional<FrameworkKind> framework; ///< none while the request has no device
    std::string device_path;                ///< empty while it has none
    std::optional<Uuid> mdev_uuid;
    std::optional<PciAddress> gpu;
    std::optional<ClaimState> claim; ///< none: nothing is claimed for it now
};

/// A domain with what it asks of us.
struct InstanceState {
    Uuid uuid;
    std::string name;
    std::string state; ///< as `virsh domstate`: "running", "shut off", ...
    bool persistent = true;
    std::vector<InstanceGpuState> gpus;
    std::vector<std::string> warnings; ///< of the operation that answers with this
};

/// What is known of a domain from its XML (what runs, else what is defined) and its claims.
/// `sysfs`: the configured root, for the paths of devices that are not claimed. Error: its XML
/// cannot be read.
[[nodiscard]] Result<InstanceState>
instance_state(const DomainInfo& info, const std::vector<Claim>& claims, const std::string& sysfs);

/// The JSON of one instance and of a list, as docs/openapi.yaml says.
[[nodiscard]] std::string instance_json(const InstanceState& instance);
[[nodiscard]] std::string instances_json(const std::vector<InstanceState>& instances);

} // namespace vgpu
