#pragma once

#include "agent/cli/hypervisor.hpp"
#include "agent/core/deadline.hpp"

#include <memory>
#include <string>

namespace vgpu::cli {

/// Opens a connection for reading and writing, and makes libvirt's library print nothing. All calls
/// on it are over by `deadline`. Error: unavailable, denied or timeout, with libvirt's words.
[[nodiscard]] Result<std::unique_ptr<Hypervisor>> connect_libvirt(const std::string& uri,
                                                                  Deadline deadline);

} // namespace vgpu::cli
