#pragma once

#include "agent/http/refusal.hpp"

#include <optional>
#include <string_view>

namespace vgpu::http {

/// What Beast's parser leaves to its user: nothing if the request may be read on.
std::optional<Refusal> check_header(const HeaderFields& fields, std::string_view target,
                                    int minor_version, const Limits& limits);

} // namespace vgpu::http
