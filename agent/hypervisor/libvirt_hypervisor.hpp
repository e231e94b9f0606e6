#pragma once

#include "agent/hypervisor/domain_control.hpp"

#include <memory>
#include <string>

namespace vgpu {

/// Opens a connection for reading and writing, and makes libvirt's library print nothing. All calls
/// on it are over by `deadline`, until another one is set. Error: unavailable, denied or timeout,
/// with libvirt's words; unavailable also while many earlier calls of this process are still out.
[[nodiscard]] Result<std::unique_ptr<DomainControl>> connect_libvirt(const std::string& uri,
                                                                     Deadline deadline);

} // namespace vgpu
