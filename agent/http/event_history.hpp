#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace vgpu::http {

struct Event {
    std::string name; ///< one line, without CR or LF
    std::string data; ///< any number of lines
};

using EventFilter = std::function<bool(const Event&)>;

/// How much an EventStream remembers.
struct EventCapacity {
    std::size_t events = 1024;
    std::size_t bytes = std::size_t{4} << 20U; ///< as sent
};

/// The newest events of a stream, bounded, and who is to be told of more. Its readers share it with
/// the EventStream, so that they may outlive that. All functions may be called from any thread.
class EventHistory {
public:
    EventHistory(std::string epoch, EventCapacity capacity);

    /// Adds an event and wakes the readers; nothing once closed. An event larger than the whole
    /// history is kept alone.
    void publish(const Event& event);
    /// No more events will come: the readers are woken to read the rest, and then end.
    void close();

    struct Start {
        std::uint64_t position = 0;
        bool lost = false; ///< the events after that id are no longer known
    };
    /// Where to go on after `last_event_id`; with an empty one, after the newest event.
    [[nodiscard]] Start resume(std::string_view last_event_id) const;

    struct Batch {
        std::string text;   ///< as to be sent; empty: nothing new
        bool lost = false;  ///< the reader is too far behind
        bool ended = false; ///< nothing is left, and nothing more will come
    };
    /// The next events from `position` on, which it moves; ends after `max_bytes`. What the filter
    /// throws passes through.
    [[nodiscard]] Batch read(std::uint64_t& position, const EventFilter& filter,
                             std::size_t max_bytes) const;

    /// The id of the newest event: what a client that has just listed everything has seen.
    [[nodiscard]] std::string newest_id() const;

    /// The id of the event before `position`: whoever has it resumes there.
    [[nodiscard]] std::string id_before(std::uint64_t position) const {
        return id_of(position - 1);
    }

    /// `wake` is called, on the publisher's thread and briefly, after each event and the end, while
    /// the returned object lives. A call that has begun may end after that object's destruction.
    [[nodiscard]] std::shared_ptr<void> subscribe(std::function<void()> wake);

private:
    struct Entry {
        Event event;
        std::string text;
    };
    using Wakes = std::vector<std::shared_ptr<std::function<void()>>>;
    [[nodiscard]] std::string id_of(std::uint64_t position) const;
    void add(const Event& event);
    [[nodiscard]] Wakes living_readers();

    const std::string epoch_;
    const EventCapacity capacity_;
    mutable std::mutex mutex_;
    std::deque<std::shared_ptr<const Entry>> entries_;
    std::uint64_t end_ = 1; ///< position after the newest entry
    std::size_t bytes_ = 0;
    bool closed_ = false;
    std::vector<std::weak_ptr<std::function<void()>>> readers_;
};

/// One event as it is sent; `id` may be empty. Line breaks of any kind in the data are kept apart,
/// and in the name or id they are left out.
std::string format_event(std::string_view id, const Event& event);

} // namespace vgpu::http
