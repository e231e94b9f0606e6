#pragma once

#include "agent/assignment/assignment_plan.hpp"
#include "agent/core/deadline.hpp"
#include "agent/core/locks.hpp"
#include "agent/hypervisor/hypervisor.hpp"

#include <string>
#include <vector>

namespace vgpu {

/// A domain that can be given another definition, with what we read in it.
struct Definition {
    DomainInfo info;
    xml::DomainView view;
};

/// Keeps two writers of assignments from choosing the same free device: commands and the daemon's
/// rebind. No hook takes this lock, so libvirt may be called under it. Blocks until the deadline.
/// Error: timeout.
[[nodiscard]] Result<FileLock> lock_assignments(const Config::Paths& paths, Deadline deadline);

/// What we read in a domain's persistent definition. Error: unsupported for a transient domain,
/// which has none; invalid for XML that read_domain() refuses.
[[nodiscard]] Result<Definition> read_definition(DomainInfo info);
/// The same, of the domain of this name or UUID. Error: not_found as well.
[[nodiscard]] Result<Definition> definition_of(Hypervisor& hypervisor, const std::string& name);

/// Gives the domain the definition `xml`. Returns what libvirt made of it. Error: conflict if
/// somebody has changed the definition since `before` was read; libvirt's own.
[[nodiscard]] Result<Definition> redefine(Hypervisor& hypervisor, const Definition& before,
                                          const std::string& xml);
/// Writes the planned devices into the definition, and reads back that all have survived. False if
/// it was so already. Errors: as redefine(), and io if libvirt did not keep what was written.
[[nodiscard]] Result<bool> write_plan(Hypervisor& hypervisor, const Definition& definition,
                                      const std::vector<PlannedDevice>& plan);

/// libvirt took a definition and dropped what was written of `request`.
[[nodiscard]] Error not_kept(const Definition& definition, const std::string& request);

/// What the other domains' XML names, running or not. Those whose XML cannot be read are told in
/// `warnings`.
[[nodiscard]] std::vector<NamedDevice> named_elsewhere(const std::vector<DomainInfo>& domains,
                                                       const Uuid& own,
                                                       std::vector<std::string>& warnings);

} // namespace vgpu
