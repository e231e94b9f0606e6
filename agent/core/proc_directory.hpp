#pragma once

#include "agent/core/result.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace vgpu {

/// True for the errors of a process that has ended meanwhile.
[[nodiscard]] bool vanished(int error_number);

/// The names in a directory of /proc that are numbers (processes, threads, open files); none if it
/// has vanished.
[[nodiscard]] Result<std::vector<std::int64_t>> numeric_names(const std::string& path);

} // namespace vgpu
