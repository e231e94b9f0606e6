#pragma once

#include "agent/core/ids.hpp"
#include "agent/core/result.hpp"

#include <optional>
#include <string>
#include <vector>

namespace vgpu {

/// A version as libvirt counts it: 9007000 is 9.7.0.
using Version = unsigned long;

/// "9.7.0"; "unknown" for 0.
[[nodiscard]] std::string version_text(Version version);

/// What is behind the connection.
struct HypervisorFacts {
    std::string driver;     ///< "QEMU", "Test", ...
    Version libvirt = 0;    ///< of the daemon, not of the library here
    Version hypervisor = 0; ///< of QEMU; 0: unknown
};

/// Why this libvirt cannot give a domain a VF of the vendor-vfio framework; nullopt if it can.
[[nodiscard]] std::optional<Error> vendor_vfio_obstacle(const HypervisorFacts& hypervisor);

struct DomainInfo {
    Uuid uuid;
    std::string name;
    bool active = false;
    std::string state; ///< as `virsh domstate` says: "running", "shut off", "paused", ...
    bool persistent = true;
    bool has_saved_state = false; ///< the next start restores it, with the definition of then
    std::string xml;              ///< the persistent definition; empty without one
    std::string live_xml;         ///< what runs; empty when shut off
    std::string error;            ///< why its XML could not be had
};

/// What reads and definitions need of libvirt. Every call is bounded by the deadline of the
/// connection: a daemon that does not answer is a `timeout` error, and so is every call after it.
class Hypervisor {
public:
    virtual ~Hypervisor() = default;
    Hypervisor() = default;
    Hypervisor(const Hypervisor&) = delete;
    Hypervisor& operator=(const Hypervisor&) = delete;

    [[nodiscard]] virtual Result<HypervisorFacts> facts() = 0;
    /// All domains, running or not, without the secrets in their XML. One whose XML cannot be had
    /// is there with its `error`; one that vanishes meanwhile is left out.
    [[nodiscard]] virtual Result<std::vector<DomainInfo>> domains() = 0;
    /// One domain by UUID or name, with the secrets in its XML, so that it can be defined again.
    /// Error: not_found.
    [[nodiscard]] virtual Result<DomainInfo> domain(const std::string& name_or_uuid) = 0;
    /// Defines a domain after the daemon has validated it against its schema.
    [[nodiscard]] virtual Result<void> define(const std::string& xml) = 0;
};

} // namespace vgpu
