#pragma once

#include "agent/cli/json_view.hpp"

#include <string>

namespace vgpu::cli {

/// What virt-vgpud says of instances, for people. Text in it is untrusted and is made harmless.
[[nodiscard]] std::string instance_text(const Json& instance, bool colour);
[[nodiscard]] std::string instances_text(const Json& instances, bool colour);
/// Only the names, one a line, without those that have a control character: for scripts.
[[nodiscard]] std::string instance_names(const Json& instances);

} // namespace vgpu::cli
