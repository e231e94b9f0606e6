#pragma once

#include "agent/http/message.hpp"

#include <string>

namespace vgpu::http {

struct Framing {
    bool keep_alive = true;
    bool chunked = false; ///< the body follows in chunks, its length is not known
    int minor_version = 1;
};

/// The status line and fields of an answer, with the empty line. A field whose name or value has a
/// control character is left out: a handler that echoes input cannot forge a second answer.
std::string response_head(const Response& response, Framing framing);

/// `data` as one chunk of a chunked body; must not be empty (an empty one would end the body).
std::string chunk(const std::string& data);

} // namespace vgpu::http
