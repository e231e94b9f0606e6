#pragma once

#include "agent/core/result.hpp"

#include <cstddef>
#include <string>

namespace vgpu::cli {

/// The file that an argument names; "-" is standard input. Blocks for as long as its writer does.
/// Errors: as read_descriptor() and read_small_file().
[[nodiscard]] Result<std::string> read_input(const std::string& file, std::size_t limit);

} // namespace vgpu::cli
