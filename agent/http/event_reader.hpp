#pragma once

#include "agent/core/result.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace vgpu::http {

struct ReceivedEvent {
    std::string id; ///< of this or the last event that had one: for resuming
    std::string name;
    std::string data;
};

/// Takes a stream of server-sent events apart, however it was cut into pieces.
class EventReader {
public:
    /// An event may have `limit` bytes, of them 1024 in its name and as many in its id.
    explicit EventReader(std::size_t limit) : limit_(limit) {}

    /// The events that `text` completes; `io` for one that is too large.
    [[nodiscard]] Result<std::vector<ReceivedEvent>> feed(std::string_view text);

private:
    Result<void> take_line(std::vector<ReceivedEvent>& events);
    std::size_t limit_;
    std::string line_;
    bool after_cr_ = false;
    bool has_data_ = false;
    ReceivedEvent event_;
};

} // namespace vgpu::http
