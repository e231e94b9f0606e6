#include "agent/http/client_connection.hpp"

#include "agent/http/response_head.hpp"

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <utility>

namespace vgpu::http {

namespace net = boost::asio;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;

namespace {

/// A refused client's body is read away up to this, so that it comes to read the answer.
constexpr std::size_t linger_bytes = std::size_t{16} << 20U;

} // namespace

void ClientConnection::wind_up() {
    keep_alive_ = false;
    if (phase_ == Phase::idle) {
        close();
    } else if (phase_ == Phase::streaming) {
        end_stream();
    }
}

void ClientConnection::close() {
    if (phase_ == Phase::closed) {
        return;
    }
    end_exchange(0);
    set_phase(Phase::closed);
    timer_.cancel();
    error_code ignored;
    socket_.close(ignored);
    free_reading();
    state_->remove(shared_from_this());
}

void ClientConnection::expired() {
    const auto self = shared_from_this();
    switch (phase_) {
    case Phase::reading:
        ++state_->counters.timeouts;
        timed_out_ = true;
        socket_.cancel();
        return;
    case Phase::streaming:
        if (!streaming_->writing) {
            write_stream(": alive\n\n");
            return;
        }
        ++state_->counters.streams_dropped;
        [[fallthrough]];
    case Phase::writing:
        ++state_->counters.timeouts;
        close();
        return;
    default:
        close();
    }
}

void ClientConnection::dispatch() {
    auto target = parse_target(exchange_->raw_target);
    if (!target) {
        refuse(malformed(target.error().text()));
        return;
    }
    if (state_->counters.requests_waiting >= state_->limits.waiting) {
        // The request is read whole: the connection can go on.
        ++state_->counters.requests_refused;
        write(to_response(over_limit(503, "too_many_requests",
                                     "virt-vgpud works on as many requests as it may; try again "
                                     "later")
                              .problem));
        return;
    }
    Request request = take_request(*std::move(target));
    set_phase(Phase::handling);
    timer_.cancel();
    free_reading();
    ++state_->counters.requests_waiting;
    exchange_->channel = std::make_shared<Channel>(state_, weak_from_this(), ++exchange_number_,
                                                   std::exchange(exchange_->body_bytes, 0));
    watch_for_hang_up();
    Reply reply(exchange_->channel);
    const auto handler = state_->handler;
    try {
        (*handler)(std::move(request), std::move(reply));
    } catch (...) {
        // Whatever it was, the reply was dropped on the way here: the client gets a 500.
        return;
    }
}

/// A client that only ends its own side (shutdown) still wants its answer; one that is gone does
/// not. Only the latter is a hang-up to the kernel.
void ClientConnection::watch_for_hang_up() {
    socket_.async_wait(net::socket_base::wait_error, [self = shared_from_this()](error_code error) {
        if (!error && (self->phase_ == Phase::handling || self->phase_ == Phase::streaming)) {
            self->close();
        }
    });
}

void ClientConnection::respond(std::uint64_t exchange, Response response) {
    if (phase_ != Phase::handling || exchange != exchange_number_) {
        return;
    }
    exchange_->channel.reset();
    socket_.cancel(); // watch_for_hang_up()
    if (count_answer(response.body.size())) {
        write(std::move(response));
        return;
    }
    write(to_response(over_limit(503, "too_many_answers",
                                 "what was asked is done, but clients keep virt-vgpud from sending "
                                 "the answer: it holds as many bytes for them as it may; ask "
                                 "again later for what is")
                          .problem));
}

/// False if too much waits already for clients that do not read; small answers always have room.
bool ClientConnection::count_answer(std::size_t bytes) {
    auto& counters = state_->counters;
    if (bytes <= state_->limits.small_answer || exchange_->method == "HEAD") {
        return true;
    }
    if (bytes > state_->limits.answers - std::min(counters.answer_bytes, state_->limits.answers)) {
        ++counters.requests_refused;
        return false;
    }
    counters.answer_bytes += bytes;
    exchange_->answer_bytes = bytes;
    return true;
}

void ClientConnection::refuse(const Refusal& refusal) {
    keep_alive_ = false;
    if (refusal.counter != nullptr) {
        ++(state_->counters.*refusal.counter);
    }
    if (exchange_->head_bytes == 0) {
        note_first_line(); // as far as it was read
    }
    write(to_response(refusal.problem));
}

void ClientConnection::write(Response response) {
    keep_alive_ = keep_alive_ && !state_->stopping;
    set_phase(Phase::writing);
    status_ = response.status;
    out_head_ = response_head(
        response, {.keep_alive = keep_alive_, .minor_version = exchange_->minor_version});
    const bool bodiless = exchange_->method == "HEAD" || status_ == 204 || status_ == 304;
    out_body_ = bodiless ? std::string() : std::move(response.body);
    timer_.set(state_->limits.write);
    const std::array<net::const_buffer, 2> buffers{net::buffer(out_head_), net::buffer(out_body_)};
    net::async_write(socket_, buffers, [self = shared_from_this()](error_code error, std::size_t) {
        if (self->phase_ != Phase::writing) {
            return;
        }
        if (error) {
            self->close();
            return;
        }
        self->written();
    });
}

void ClientConnection::written() {
    end_exchange(status_);
    if (phase_ == Phase::closed) { // by the access log
        return;
    }
    std::string().swap(out_head_);
    std::string().swap(out_body_);
    if (keep_alive_) {
        wait_for_request();
        return;
    }
    error_code ignored;
    socket_.shutdown(net::socket_base::shutdown_send, ignored);
    set_phase(Phase::lingering);
    // Closed with input unread, the client's next write fails before it reads why.
    timer_.set(state_->limits.linger);
    linger(linger_bytes);
}

void ClientConnection::linger(std::size_t left) {
    out_body_.resize(4096);
    socket_.async_read_some(net::buffer(out_body_),
                            [self = shared_from_this(), left](error_code error, std::size_t count) {
                                if (self->phase_ != Phase::lingering) {
                                    return;
                                }
                                if (error || count >= left || self->state_->stopping) {
                                    self->close();
                                    return;
                                }
                                self->linger(left - count);
                            });
}

/// Gives back what the request at hand holds, counts it and has it logged; nothing without one.
void ClientConnection::end_exchange(int status) {
    const auto exchange = std::exchange(exchange_, nullptr);
    if (exchange == nullptr) {
        return;
    }
    auto& counters = state_->counters;
    counters.body_bytes -= exchange->body_bytes;
    counters.answer_bytes -= exchange->answer_bytes;
    if (exchange->channel != nullptr) {
        exchange->channel->abandon();
    }
    if (streaming_ != nullptr) {
        --counters.streams_open;
        streaming_.reset();
        status = status_;
    }
    if (status == 0) {
        ++counters.requests_abandoned;
    } else {
        ++counters.requests_by_class[static_cast<std::size_t>(status / 100) %
                                     counters.requests_by_class.size()];
    }
    const auto log = state_->log;
    if (log == nullptr || !*log) {
        return;
    }
    try {
        (*log)(
            {exchange->method, exchange->target, status,
             std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - exchange->start),
             peer_});
    } catch (...) {
        // A record that cannot be written is no reason to end the loop.
        return;
    }
}

std::shared_ptr<Connection> make_connection(std::shared_ptr<ServerState> state, UniqueFd fd,
                                            Peer peer) {
    return std::make_shared<ClientConnection>(std::move(state), std::move(fd), peer);
}

} // namespace vgpu::http
