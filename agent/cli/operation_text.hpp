#pragma once

#include "agent/cli/json_view.hpp"

#include <string>

namespace vgpu::cli {

/// What virt-vgpud says of operations, for people. Text in it is untrusted and is made harmless.
[[nodiscard]] std::string operation_text(const Json& operation, bool colour);
[[nodiscard]] std::string operations_text(const Json& operations, bool colour);

/// "start vm1: failed: why" in one line.
[[nodiscard]] std::string operation_summary(const Json& operation);

} // namespace vgpu::cli
