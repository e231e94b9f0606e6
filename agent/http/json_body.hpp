#pragma once

#include "agent/core/result.hpp"
#include "agent/http/message.hpp"
#include "agent/http/problem.hpp"

#include <nlohmann/json.hpp>
#include <tl/expected.hpp>

#include <string_view>

namespace vgpu::http {

/// Reads one JSON text. `invalid` if it is none, is no UTF-8, names a key twice in one object (two
/// readers would take different ones), or is nested deeper than 64 (nlohmann::json destroys itself
/// recursively: depth is stack).
Result<nlohmann::json> parse_json(std::string_view text);

/// The request's body as JSON, or the problem to answer with: 415 unless its Content-Type is
/// application/json, 400 as parse_json().
tl::expected<nlohmann::json, Problem> parse_json_body(const Request& request);

} // namespace vgpu::http
