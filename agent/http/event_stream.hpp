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

/// A source of server-sent events with a short memory, read by any number of clients.
///
/// There is one bounded history for all of them, and a reader is a position in it: a hundred slow
/// readers cost no more than one, and none of them can hold up publish(). Whoever falls behind the
/// history's end is told to be `lost`. All functions may be called from any thread.
class EventStream {
public:
    struct Capacity {
        std::size_t events = 1024;
        std::size_t bytes = std::size_t{4} << 20U;
    };

    /// `epoch` goes into every id and must differ from run to run (a boot or incarnation id): else
    /// a client of the last run would resume in the middle of this one. Letters, digits, '-'.
    explicit EventStream(std::string epoch) : EventStream(std::move(epoch), Capacity()) {}
    EventStream(std::string epoch, Capacity capacity);

    /// Adds an event and wakes the readers. An event larger than the whole history is kept alone.
    void publish(const Event& event);

    struct Start {
        std::uint64_t position = 0;
        bool lost = false; ///< the events after that id are no longer known
    };
    /// Where to go on after `last_event_id`; with an empty one, after the newest event.
    [[nodiscard]] Start resume(std::string_view last_event_id) const;

    /// Where everything that is still known begins.
    [[nodiscard]] std::uint64_t oldest() const;

    struct Batch {
        std::string text;  ///< as to be sent; empty: nothing new
        bool lost = false; ///< the reader is too far behind
    };
    /// The next events from `position` on, which it moves; ends after `max_bytes`.
    [[nodiscard]] Batch read(std::uint64_t& position, const EventFilter& filter,
                             std::size_t max_bytes) const;

    /// The id of the newest event: what a client that has just listed everything has seen.
    [[nodiscard]] std::string newest_id() const;

    /// The id of the event before `position`: whoever has it resumes there.
    [[nodiscard]] std::string id_before(std::uint64_t position) const {
        return id_of(position - 1);
    }

    /// `wake` is called, on the publisher's thread and briefly, after each event while the returned
    /// object lives. A call that has begun may end after that object's destruction.
    [[nodiscard]] std::shared_ptr<void> subscribe(std::function<void()> wake);

private:
    struct Entry {
        Event event;
        std::string text;
    };
    [[nodiscard]] std::string id_of(std::uint64_t position) const;

    const std::string epoch_;
    const Capacity capacity_;
    mutable std::mutex mutex_;
    std::deque<std::shared_ptr<const Entry>> entries_;
    std::uint64_t end_ = 1; ///< position after the newest entry
    std::size_t bytes_ = 0;
    std::vector<std::weak_ptr<std::function<void()>>> readers_;
};

/// One event as it is sent; `id` may be empty. Line breaks of any kind in the data are kept apart,
/// and in the name or id they are left out.
std::string format_event(std::string_view id, const Event& event);

} // namespace vgpu::http
