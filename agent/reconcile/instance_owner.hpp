#pragma once

#include "agent/core/config.hpp"
#include "agent/core/locks.hpp"

namespace vgpu {

/// The right to hold instance locks (steps C0 and D0 of docs/protocol.md). They live in the memory
/// of one process, so one process at a time may have any: virt-vgpud while it runs, else one
/// `virt-vgpu reconcile`. The right ends with the object or the process. Does not wait. Error:
/// busy, saying who has it.
[[nodiscard]] Result<FileLock> become_instance_owner(const Config::Paths& paths);

} // namespace vgpu
