#pragma once

#include "agent/cli/command.hpp"
#include "agent/cli/operation_wait.hpp"

#include <string>

namespace vgpu::cli {

/// "/v1/instances/NAME", and "/VERB" if there is one.
[[nodiscard]] std::string instance_target(const std::string& name, const std::string& verb = {});

/// Has virt-vgpud do it and prints the instance that it answers with. Returns the exit code.
[[nodiscard]] int act_on_instance(const CommonOptions& options, ChangeRequest action);

} // namespace vgpu::cli
