#pragma once

#include <string>
#include <string_view>

namespace vgpu::xml {

/// The SHA-256 digest (FIPS 180-4) of the bytes, as 64 lower-case hex digits.
[[nodiscard]] std::string sha256_hex(std::string_view bytes);

} // namespace vgpu::xml
