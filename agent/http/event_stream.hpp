#pragma once

#include "agent/http/event_history.hpp"

#include <memory>
#include <string>
#include <utility>

namespace vgpu::http {

/// A source of server-sent events with a short memory, read by any number of clients.
///
/// There is one bounded history for all of them, and a reader is a position in it: a hundred slow
/// readers cost no more than one, and none of them can hold up publish(). Whoever falls behind the
/// history's end is told to be `lost`. All functions may be called from any thread.
///
/// It may be destroyed before the streams that read it: they send what there is, and end.
class EventStream {
public:
    using Capacity = EventCapacity;
    using Start = EventHistory::Start;
    using Batch = EventHistory::Batch;

    /// `epoch` goes into every id and must differ from run to run (a boot or incarnation id): else
    /// a client of the last run would resume in the middle of this one. Letters, digits, '-'.
    explicit EventStream(std::string epoch) : EventStream(std::move(epoch), Capacity()) {}
    EventStream(std::string epoch, Capacity capacity)
        : history_(std::make_shared<EventHistory>(std::move(epoch), capacity)) {}
    ~EventStream() { history_->close(); }
    EventStream(const EventStream&) = delete;
    EventStream& operator=(const EventStream&) = delete;

    // As in EventHistory.
    void publish(const Event& event) { history_->publish(event); }
    void close() { history_->close(); }
    [[nodiscard]] Start resume(std::string_view last_event_id) const {
        return history_->resume(last_event_id);
    }
    [[nodiscard]] Batch read(std::uint64_t& position, const EventFilter& filter,
                             std::size_t max_bytes) const {
        return history_->read(position, filter, max_bytes);
    }
    [[nodiscard]] std::string newest_id() const { return history_->newest_id(); }
    [[nodiscard]] std::string id_before(std::uint64_t position) const {
        return history_->id_before(position);
    }
    [[nodiscard]] std::shared_ptr<void> subscribe(std::function<void()> wake) {
        return history_->subscribe(std::move(wake));
    }

    /// For readers that may outlive this object.
    [[nodiscard]] std::shared_ptr<EventHistory> history() const { return history_; }

private:
    std::shared_ptr<EventHistory> history_;
};

} // namespace vgpu::http
