#include "agent/http/event_reader.hpp"

#include <utility>

namespace vgpu::http {

namespace {

/// Every event of a piece has a copy of the last id: a long one and many small events would be more
/// than any limit.
constexpr std::size_t longest_name = 1024;

} // namespace

Result<void> EventReader::take_line(std::vector<ReceivedEvent>& events) {
    const std::string line = std::exchange(line_, {});
    if (line.empty()) {
        if (has_data_) {
            events.push_back(event_);
        }
        event_.name.clear();
        event_.data.clear();
        has_data_ = false;
        return {};
    }
    const auto colon = line.find(':');
    const std::string name = line.substr(0, colon);
    std::string value = colon == std::string::npos ? "" : line.substr(colon + 1);
    if (value.starts_with(' ')) {
        value.erase(0, 1);
    }
    if ((name == "id" || name == "event") && value.size() > longest_name) {
        return fail(ErrorCode::io, "an event's " + name + " has more than " +
                                       std::to_string(longest_name) + " bytes");
    }
    if (name == "id" && value.find('\0') == std::string::npos) {
        event_.id = value;
    } else if (name == "event") {
        event_.name = value;
    } else if (name == "data") {
        event_.data.append(has_data_ ? "\n" : "").append(value);
        has_data_ = true;
    }
    return {};
}

Result<std::vector<ReceivedEvent>> EventReader::feed(std::string_view text) {
    std::vector<ReceivedEvent> events;
    for (const char c : text) {
        const bool second_half = std::exchange(after_cr_, c == '\r') && c == '\n';
        if (second_half) {
            continue;
        }
        if (c == '\r' || c == '\n') {
            VGPU_TRY(take_line(events));
        } else if (line_.size() + event_.data.size() < limit_) {
            line_ += c;
        } else {
            return fail(ErrorCode::io,
                        "an event has more than " + std::to_string(limit_) + " bytes");
        }
    }
    return events;
}

} // namespace vgpu::http
