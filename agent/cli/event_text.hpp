#pragma once

#include "agent/http/event_reader.hpp"

#include <string>

namespace vgpu::cli {

/// One line of what has happened, for people: "KIND  what". Text in it is untrusted and is made
/// harmless.
[[nodiscard]] std::string event_text(const http::ReceivedEvent& event);

/// {"id":…,"event":…,"data":…} on one line; data that is no JSON is a text.
[[nodiscard]] std::string event_json(const http::ReceivedEvent& event);

} // namespace vgpu::cli
