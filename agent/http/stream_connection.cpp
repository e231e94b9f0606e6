#include "agent/http/client_connection.hpp"
#include "agent/http/response_head.hpp"

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <utility>

namespace vgpu::http {

namespace net = boost::asio;
using boost::system::error_code;

namespace {

constexpr std::size_t event_batch = std::size_t{64} << 10U;

} // namespace

void ClientConnection::stream(std::uint64_t exchange, StreamResponse response,
                              std::shared_ptr<EventHistory> events) {
    if (phase_ != Phase::handling || exchange != exchange_number_) {
        return;
    }
    if (state_->stopping || state_->counters.streams_open >= state_->limits.streams) {
        ++state_->counters.requests_refused;
        respond(exchange,
                to_response(over_limit(503, "too_many_streams",
                                       "virt-vgpud has as many event streams as it may; try again "
                                       "later")
                                .problem));
        return;
    }
    Response head;
    head.content_type = "text/event-stream";
    head.headers = {{"Cache-Control", "no-store"}};
    if (exchange_->method == "HEAD") {
        respond(exchange, std::move(head));
        return;
    }
    exchange_->channel.reset();
    set_phase(Phase::streaming);
    keep_alive_ = false;
    status_ = head.status;
    out_head_ = response_head(head, {.keep_alive = false, .chunked = is_chunked()});
    start_stream(std::move(response), std::move(events));
}

void ClientConnection::start_stream(StreamResponse response,
                                    std::shared_ptr<EventHistory> events) {
    ++state_->counters.streams;
    ++state_->counters.streams_open;
    streaming_ = std::make_shared<Streaming>();
    streaming_->events = std::move(events);
    streaming_->owned = std::move(response.events);
    streaming_->filter = std::move(response.filter);
    const auto start = streaming_->events->resume(response.last_event_id);
    streaming_->position = start.position;
    subscribe();
    // After a loss the client must list everything again; the id lets it resume from here.
    write_stream(start.lost ? format_event(streaming_->events->id_before(start.position),
                                           {"resync", ""})
                            : std::string(": open\n\n"));
}

void ClientConnection::subscribe() {
    // Publishers post once until the loop has looked, however many events they have.
    auto awake = std::make_shared<std::atomic<bool>>(false);
    streaming_->subscription = streaming_->events->subscribe(
        [awake, mailbox = state_->mailbox, weak = weak_from_this()] {
            if (!awake->exchange(true)) {
                mailbox->post([awake, weak] {
                    awake->store(false);
                    if (const auto self = weak.lock()) {
                        self->pump();
                    }
                });
            }
        });
}

/// Writes what has been published, unless a write is under way that will come back here.
void ClientConnection::pump() {
    if (phase_ != Phase::streaming || streaming_->writing || streaming_->ending) {
        return;
    }
    const auto streaming = streaming_; // the filter may end this connection
    EventHistory::Batch batch;
    const auto before = streaming->position;
    try {
        batch = streaming->events->read(streaming->position, streaming->filter, event_batch);
    } catch (...) {
        close(); // the filter's failure ends this stream, not the loop
        return;
    }
    if (phase_ != Phase::streaming || streaming->writing || streaming->ending) {
        return;
    }
    if (batch.lost) {
        ++state_->counters.streams_dropped;
        close();
    } else if (!batch.text.empty()) {
        write_stream(std::move(batch.text));
    } else if (before != streaming->position) {
        // All filtered out. There may be much more of that: the others are served in between.
        net::post(state_->context, [self = shared_from_this()] { self->pump(); });
    } else if (batch.ended) {
        end_stream();
    }
}

void ClientConnection::write_stream(std::string text) {
    streaming_->writing = true;
    out_body_ = text.empty() ? std::string("0\r\n\r\n") : is_chunked() ? chunk(text) : text;
    timer_.set(state_->limits.write);
    const std::array<net::const_buffer, 2> buffers{net::buffer(out_head_), net::buffer(out_body_)};
    net::async_write(
        socket_, buffers,
        [self = shared_from_this(), last = text.empty()](error_code error, std::size_t) {
            if (self->phase_ == Phase::streaming) {
                error || last ? self->close() : self->stream_written();
            }
        });
}

void ClientConnection::stream_written() {
    streaming_->writing = false;
    std::string().swap(out_head_);
    std::string().swap(out_body_);
    if (streaming_->ending) {
        end_stream();
        return;
    }
    timer_.set(state_->limits.heartbeat);
    pump();
}

void ClientConnection::end_stream() {
    streaming_->ending = true;
    if (streaming_->writing) {
        return;
    }
    if (is_chunked()) {
        write_stream({});
    } else {
        close();
    }
}

} // namespace vgpu::http
