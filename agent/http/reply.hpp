#pragma once

#include "agent/http/event_stream.hpp"
#include "agent/http/message.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <string>

namespace vgpu::http {

/// An answer that is not one text but goes on: server-sent events.
struct StreamResponse {
    std::shared_ptr<EventStream> events;
    std::string last_event_id; ///< of the request; empty: only what comes from now on
    EventFilter filter;        ///< empty: every event. Called on the loop's thread, must not block.
};

/// Where a Reply goes; the server's side of it. Every function may be called from any thread.
class ReplyChannel {
public:
    ReplyChannel() = default;
    ReplyChannel(const ReplyChannel&) = delete;
    ReplyChannel& operator=(const ReplyChannel&) = delete;
    virtual ~ReplyChannel() = default;
    /// Whether the caller is the first: only that one may answer.
    [[nodiscard]] bool take() { return !taken_.exchange(true); }
    [[nodiscard]] bool taken() const { return taken_.load(); }
    virtual void respond(Response response) = 0;
    virtual void stream(StreamResponse response) = 0;
    [[nodiscard]] virtual bool abandoned() const = 0;

private:
    std::atomic<bool> taken_{false};
};

/// The duty to answer one request. It may be carried to any thread and be called there once, also
/// after the client, the server or the loop is gone: then nothing happens. Dropped without a call it
/// answers 500, so no path forgets a client. (A std::function wants copies: put it into a shared_ptr
/// there.) Several threads may ask and answer at the same time; only moving it is for one alone.
class Reply {
public:
    explicit Reply(std::shared_ptr<ReplyChannel> channel) : channel_(std::move(channel)) {}
    Reply(Reply&&) noexcept = default;
    Reply& operator=(Reply&& other) noexcept;
    Reply(const Reply&) = delete;
    Reply& operator=(const Reply&) = delete;
    ~Reply();

    /// Sends the answer; does not block. A second call does nothing.
    void operator()(Response response);
    /// Answers with events until the client goes, lags behind, or the server stops.
    void stream(StreamResponse response);
    /// Whether nobody waits any more: work that only serves the answer may be left out.
    [[nodiscard]] bool abandoned() const {
        return channel_ == nullptr || channel_->taken() || channel_->abandoned();
    }

private:
    void drop() noexcept;
    std::shared_ptr<ReplyChannel> channel_;
};

/// Serves a request. Called on the loop's thread: it must not block, but may keep the reply.
using Handler = std::function<void(Request, Reply)>;

} // namespace vgpu::http
