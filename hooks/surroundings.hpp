#pragma once

#include <chrono>
#include <string_view>

namespace vgpu {

/// Closes what the process inherited besides stdin, stdout and stderr, and opens /dev/null in place
/// of those that are closed: whatever gets their numbers would be read, written or closed as if it
/// were them.
void keep_standard_files_only();

/// Writes an error for the caller to stderr, as much of it as is taken within `patience` and
/// without waiting on a reader that does not read. Safe in a signal handler.
void write_message(std::string_view text, std::chrono::milliseconds patience);

} // namespace vgpu
