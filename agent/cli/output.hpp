#pragma once

#include "agent/core/error.hpp"

#include <string>
#include <string_view>

namespace vgpu::cli {

inline constexpr int exit_done = 0;
inline constexpr int exit_failed = 1;
inline constexpr int exit_usage = 2;

/// True if standard output is a terminal that understands colours and NO_COLOR is not set.
[[nodiscard]] bool wants_colour();

/// Writes `text` to standard output. Returns the exit code: a result that could not be delivered
/// (a full disk, a closed pipe) is a failure.
[[nodiscard]] int print(std::string_view text);

/// "virt-vgpu: text" on standard error, control characters made visible.
void complain(std::string_view text);
/// "virt-vgpu: warning: text" on standard error.
void warn(std::string_view text);

/// Says what has failed, and that root is needed where that is the likely reason. Returns
/// exit_failed.
[[nodiscard]] int report(const Error& error);

} // namespace vgpu::cli
