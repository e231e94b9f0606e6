#pragma once

#include "agent/core/result.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace vgpu::http {

/// What a request asks for, taken apart.
struct Target {
    std::string path;                         ///< as sent, without the query
    std::vector<std::string> segments;        ///< decoded; "/a/" has two, the last empty
    std::map<std::string, std::string> query; ///< decoded; a key without '=' has an empty value
};

/// Accepts "/path?query" and "http://host/path?query". `invalid` for anything else, for a broken
/// percent code, for decoded text that is no UTF-8 or has control characters, for a "." or ".."
/// segment (however spelt), and for a key that is given twice.
Result<Target> parse_target(std::string_view target);

/// Percent-encodes everything but RFC 3986's unreserved characters: safe as one segment or value.
std::string encode_segment(std::string_view text);

} // namespace vgpu::http
