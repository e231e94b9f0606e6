#pragma once

#include <string_view>

namespace vgpu::http {

/// ASCII only, as names of header fields and media types are compared.
bool equal_ignoring_case(std::string_view a, std::string_view b);

/// Without the spaces and tabs around it.
std::string_view trim(std::string_view text);

} // namespace vgpu::http
