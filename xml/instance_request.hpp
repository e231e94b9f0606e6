#pragma once

#include "agent/core/result.hpp"
#include "xml/instance.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>

namespace vgpu::xml {

/// Reads a request as the API takes it, and checks it as check_instance_request() does. vGPUs
/// without a name get vgpu0, vgpu1, ... by their place. Untrusted input; does not block.
/// Error: invalid, beginning with the JSON pointer of the field: unknown fields, wrong types
/// (null is one), values out of range.
[[nodiscard]] Result<InstanceRequest> parse_instance_request(const nlohmann::json& json);

/// The same from text, which is JSON of at most max_request_bytes in which no object has a name
/// twice.
[[nodiscard]] Result<InstanceRequest> parse_instance_request_text(std::string_view text);

inline constexpr std::size_t max_request_bytes = 8UL * 1024 * 1024;

/// The request as JSON that parse_instance_request() reads back as the same. What has its default
/// is left out, so that equal requests have equal JSON, also in a later version with more fields.
[[nodiscard]] nlohmann::json to_json(const InstanceRequest& request);

/// What the domain keeps of the request, to be compared with a repeated one: to_json() in one line
/// of ASCII without `uuid` (the domain has its own) and `start` (which is done, not kept), and with
/// "sha256:DIGEST" for a base XML, which may be large and hold secrets. Reading it back and writing
/// it again changes nothing.
[[nodiscard]] std::string request_text(const InstanceRequest& request);

} // namespace vgpu::xml
