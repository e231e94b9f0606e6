#pragma once

#include <tl/expected.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace vgpu::simulator {

/// The kernel's kstrtou32 with base 10: digits with an optional '+' and one newline. Else EINVAL or
/// ERANGE.
tl::expected<std::uint32_t, int> kernel_number(std::string_view text);

/// The kernel's uuid_parse and the mdev core's length check (36 bytes, or 37 with a newline),
/// lower-cased. Else EINVAL.
tl::expected<std::string, int> kernel_uuid(std::string_view text);

/// Without blanks and newlines at both ends.
std::string_view trimmed(std::string_view text);

/// "EIO" or "5" -> 5; 0 when it is neither.
int errno_value(std::string_view text);
/// 5 -> "EIO".
std::string errno_name(int error);

} // namespace vgpu::simulator
