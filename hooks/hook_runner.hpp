#pragma once

#include "agent/core/config.hpp"
#include "hooks/invocation.hpp"
#include "hooks/orphan_check.hpp"

#include <string>
#include <string_view>

namespace vgpu {

/// Runs one hook call to its end. `xml` is what came on stdin. The return value is what libvirt is
/// told: 1 only for a refused `prepare`, since a non-zero exit of started or reconnect kills the
/// guest (qemu_process.c) and the other operations ignore it. `message` is then the one line for
/// people that libvirt shows. `privileged`: whether the process may change devices.
[[nodiscard]] int run_hook(const Invocation& invocation, const Result<std::string>& xml,
                           const OrphanCheck& orphan, bool privileged, std::string& message);

} // namespace vgpu
