// Everything that knows Beast: it takes longer to compile than the rest of the library.
#include "agent/http/problem.hpp"
#include "agent/http/response_head.hpp"
#include "agent/http/server_state.hpp"
#include "agent/http/target.hpp"
#include "agent/http/text.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio/buffer.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <optional>
#include <utility>

namespace vgpu::http {

namespace net = boost::asio;
namespace beast = boost::beast;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;
using Parser = beast::http::request_parser<beast::http::string_body>;
using HttpError = beast::http::error;

namespace {

/// How much of a next request may be read along with the one at hand.
constexpr std::size_t read_ahead = std::size_t{8} << 10U;
/// A refused client's body is read away up to this, so that it comes to read the answer.
constexpr std::size_t linger_bytes = std::size_t{16} << 20U;
constexpr std::size_t event_batch = std::size_t{64} << 10U;

class ClientConnection;

/// What a Reply holds: enough to find its request again, nothing that keeps the connection.
class Channel : public ReplyChannel {
public:
    Channel(std::shared_ptr<Mailbox> mailbox, std::weak_ptr<ClientConnection> connection,
            std::uint64_t exchange)
        : mailbox_(std::move(mailbox)), connection_(std::move(connection)), exchange_(exchange) {}
    void respond(Response response) override;
    void stream(StreamResponse response) override;
    [[nodiscard]] bool abandoned() const override { return abandoned_.load(); }
    void abandon() { abandoned_.store(true); }

private:
    std::shared_ptr<Mailbox> mailbox_;
    std::weak_ptr<ClientConnection> connection_;
    std::uint64_t exchange_;
    std::atomic<bool> abandoned_{false};
};

/// What of a refused request is told, counted and done.
struct Refusal {
    Problem problem;
    std::uint64_t Counters::* counter = nullptr;
};

Refusal malformed(std::string detail) {
    return {protocol_problem(400, "malformed", std::move(detail)), &Counters::requests_malformed};
}

Refusal over_limit(int status, std::string_view name, std::string detail) {
    Refusal refusal{protocol_problem(status, name, std::move(detail)), &Counters::requests_refused};
    if (status == 503) {
        refusal.problem.retry_after = std::chrono::seconds(1);
    }
    return refusal;
}

bool ends_silently(error_code error) {
    return error == HttpError::end_of_stream ||
           (error.category() != make_error_code(HttpError::end_of_stream).category());
}

class ClientConnection : public Connection, public std::enable_shared_from_this<ClientConnection> {
public:
    ClientConnection(std::shared_ptr<ServerState> state, UniqueFd fd, Peer peer)
        : state_(std::move(state)), socket_(state_->context), timer_(state_->context), peer_(peer) {
        error_code error;
        socket_.assign(net::local::stream_protocol(), fd.get(), error);
        if (!error) {
            (void)fd.release();
        }
    }

    void start() override { wait_for_request(); }

    void wind_up() override {
        keep_alive_ = false;
        if (phase_ == Phase::idle) {
            close();
        } else if (phase_ == Phase::streaming) {
            end_stream();
        }
    }

    void close() override {
        if (phase_ == Phase::closed) {
            return;
        }
        end_exchange(0);
        set_phase(Phase::closed);
        disarm();
        error_code ignored;
        socket_.close(ignored);
        free_reading();
        state_->remove(shared_from_this());
    }

    void respond(std::uint64_t exchange, Response response);
    void stream(std::uint64_t exchange, StreamResponse response);
    void pump();

private:
    enum class Phase { idle, reading, handling, writing, streaming, lingering, closed };
    struct Reading {
        explicit Reading(std::size_t limit) : buffer(limit) {}
        beast::flat_buffer buffer;
        std::optional<Parser> parser;
    };
    struct Exchange {
        std::string method;
        std::string target;
        Clock::time_point start;
        int minor_version = 1;
        std::size_t body_bytes = 0;
        std::shared_ptr<Channel> channel;
    };
    struct Streaming {
        StreamResponse source;
        std::uint64_t position = 0;
        std::shared_ptr<void> subscription;
        bool writing = false;
        bool ending = false;
    };

    void wait_for_request();
    void read_request();
    void header_read(error_code error);
    void body_read(error_code error);
    std::optional<Refusal> check_header();
    std::optional<Refusal> reserve_body();
    Refusal refusal_of(error_code error) const;
    void send_continue();
    void dispatch();
    void watch_for_hang_up();
    void refuse(const Refusal& refusal);
    void write(const Response& response);
    void written();
    void linger(std::size_t left);
    void start_stream(StreamResponse source);
    void write_stream(std::string text);
    void stream_written();
    void end_stream();
    [[nodiscard]] bool is_chunked() const { return exchange_->minor_version == 1; }
    void expired();
    void end_exchange(int status);
    void set_phase(Phase phase) { phase_ = phase; }
    void free_reading();
    void arm(Limits::Duration duration);
    void disarm() {
        ++timer_turn_;
        timer_.cancel();
    }

    std::shared_ptr<ServerState> state_;
    net::local::stream_protocol::socket socket_;
    net::steady_timer timer_;
    const Peer peer_;
    Phase phase_ = Phase::idle;
    bool keep_alive_ = true;
    bool timed_out_ = false;
    std::uint64_t timer_turn_ = 0;
    std::uint64_t exchange_number_ = 0;
    int status_ = 0;
    std::unique_ptr<Reading> reading_;
    std::unique_ptr<Exchange> exchange_;
    std::unique_ptr<Streaming> streaming_;
    std::string out_head_;
    std::string out_body_;
};

void Channel::respond(Response response) {
    mailbox_->post([connection = connection_, exchange = exchange_,
                    held = std::make_shared<Response>(std::move(response))] {
        if (const auto found = connection.lock()) {
            found->respond(exchange, std::move(*held));
        }
    });
}

void Channel::stream(StreamResponse response) {
    mailbox_->post([connection = connection_, exchange = exchange_,
                    held = std::make_shared<StreamResponse>(std::move(response))] {
        if (const auto found = connection.lock()) {
            found->stream(exchange, std::move(*held));
        }
    });
}

// --- waiting and reading

void ClientConnection::arm(Limits::Duration duration) {
    timer_.expires_after(duration);
    timer_.async_wait([self = shared_from_this(), turn = ++timer_turn_](error_code error) {
        // A timer that had fired before it was set anew comes with an old turn.
        if (!error && turn == self->timer_turn_) {
            self->expired();
        }
    });
}

void ClientConnection::expired() {
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

void ClientConnection::free_reading() {
    if (reading_ != nullptr) {
        reading_->parser.reset();
        if (phase_ == Phase::closed || reading_->buffer.size() == 0) {
            reading_.reset();
        }
    }
}

void ClientConnection::wait_for_request() {
    set_phase(Phase::idle);
    free_reading();
    if (state_->stopping) {
        close();
        return;
    }
    if (reading_ != nullptr) { // the next request has been read along with the last
        read_request();
        return;
    }
    // No buffer is held until there is something to put into it.
    arm(state_->limits.idle);
    socket_.async_wait(net::socket_base::wait_read, [self = shared_from_this()](error_code error) {
        if (self->phase_ != Phase::idle) {
            return;
        }
        if (error) {
            self->close();
            return;
        }
        self->read_request();
    });
}

void ClientConnection::read_request() {
    set_phase(Phase::reading);
    arm(state_->limits.read);
    timed_out_ = false;
    if (reading_ == nullptr) {
        reading_ = std::make_unique<Reading>(
            std::max(state_->limits.header, state_->limits.request_line) + read_ahead);
    }
    exchange_ = std::make_unique<Exchange>();
    exchange_->start = Clock::now();
    auto& parser = reading_->parser.emplace();
    parser.header_limit(static_cast<std::uint32_t>(state_->limits.header));
    parser.body_limit(state_->limits.body);
    beast::http::async_read_header(
        socket_, reading_->buffer, parser,
        [self = shared_from_this()](error_code error, std::size_t) { self->header_read(error); });
}

void ClientConnection::header_read(error_code error) {
    if (phase_ != Phase::reading) {
        return;
    }
    const auto& message = reading_->parser->get();
    exchange_->method =
        printable({message.method_string().data(), message.method_string().size()}, 20);
    exchange_->target = printable({message.target().data(), message.target().size()});
    if (error && !timed_out_ && ends_silently(error)) {
        exchange_.reset();
        close();
        return;
    }
    if (error || timed_out_) {
        refuse(refusal_of(error));
        return;
    }
    exchange_->minor_version = message.version() == 10 ? 0 : 1;
    if (const auto refusal = check_header()) {
        refuse(*refusal);
        return;
    }
    if (reading_->parser->is_done()) {
        dispatch();
        return;
    }
    if (const auto refusal = reserve_body()) {
        refuse(*refusal);
        return;
    }
    if (message[beast::http::field::expect].empty()) {
        body_read({});
        return;
    }
    send_continue();
}

void ClientConnection::send_continue() {
    out_head_ = "HTTP/1.1 100 Continue\r\n\r\n";
    net::async_write(socket_, net::buffer(out_head_),
                     [self = shared_from_this()](error_code error, std::size_t) {
                         if (self->phase_ == Phase::reading) {
                             error ? self->close() : self->body_read({});
                         }
                     });
}

void ClientConnection::body_read(error_code error) {
    if (phase_ != Phase::reading) {
        return;
    }
    if (error && !timed_out_ && ends_silently(error)) {
        close();
        return;
    }
    if (error || timed_out_) {
        refuse(refusal_of(error));
        return;
    }
    if (reading_->parser->is_done()) {
        dispatch();
        return;
    }
    beast::http::async_read(
        socket_, reading_->buffer, *reading_->parser,
        [self = shared_from_this()](error_code result, std::size_t) { self->body_read(result); });
}

/// What Beast's parser leaves to its user.
std::optional<Refusal> ClientConnection::check_header() {
    using beast::http::field;
    const auto& message = reading_->parser->get();
    if (message.target().size() > state_->limits.request_line) {
        return over_limit(414, "target_too_long", "the request's target is too long");
    }
    const auto hosts = message.count(field::host);
    if (hosts > 1 || (hosts == 0 && exchange_->minor_version == 1)) {
        return malformed("a request has one Host field");
    }
    if (message.count(field::content_type) > 1) {
        return malformed("the request has more than one Content-Type");
    }
    // A body that is framed in a way not known here would be read as the next request.
    const auto encoding = message[field::transfer_encoding];
    if (message.count(field::transfer_encoding) > 1 ||
        (exchange_->minor_version == 0 && !encoding.empty()) ||
        (!encoding.empty() && !beast::iequals(encoding, "chunked"))) {
        return Refusal{protocol_problem(501, "unsupported_encoding",
                                        "of transfer encodings only 'chunked' is known"),
                       &Counters::requests_malformed};
    }
    const auto expect = message[field::expect];
    if (!expect.empty() && !beast::iequals(expect, "100-continue")) {
        return Refusal{protocol_problem(417, "unknown_expectation",
                                        "of expectations only '100-continue' is known"),
                       &Counters::requests_malformed};
    }
    return std::nullopt;
}

std::optional<Refusal> ClientConnection::reserve_body() {
    const auto length = reading_->parser->content_length();
    const std::size_t bytes = length ? static_cast<std::size_t>(*length) : state_->limits.body;
    if (state_->counters.body_bytes + bytes > state_->limits.bodies) {
        return over_limit(503, "too_many_bodies",
                          "virt-vgpud reads as many request bodies as it may; try again later");
    }
    state_->counters.body_bytes += bytes;
    exchange_->body_bytes = bytes;
    return std::nullopt;
}

Refusal ClientConnection::refusal_of(error_code error) const {
    const auto& limits = state_->limits;
    if (timed_out_) {
        return {protocol_problem(408, "request_timeout",
                                 "the request was not complete after " +
                                     std::to_string(limits.read.count()) + " ms"),
                nullptr};
    }
    if (error == HttpError::body_limit) {
        return over_limit(413, "body_too_large",
                          "a request's body may have " + std::to_string(limits.body) + " bytes");
    }
    if (error == HttpError::header_limit || error == HttpError::buffer_overflow) {
        const auto data = reading_->buffer.data();
        const std::string_view text(static_cast<const char*>(data.data()), data.size());
        if (reading_->parser->get().target().empty() && text.find('\n') == text.npos) {
            return over_limit(414, "target_too_long", "the request's first line is too long");
        }
        return over_limit(431, "header_too_large",
                          "a request's header may have " + std::to_string(limits.header) +
                              " bytes");
    }
    if (error == HttpError::bad_version) {
        return malformed("the first line of the request does not end in 'HTTP/1.1' and CR LF");
    }
    return malformed("the request is no HTTP: " + error.message());
}

// --- handling

void ClientConnection::dispatch() {
    auto& message = reading_->parser->get();
    keep_alive_ = keep_alive_ && message.keep_alive();
    auto target = parse_target({message.target().data(), message.target().size()});
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
    Request request;
    request.method = std::string(message.method_string());
    request.path = std::move(target->path);
    request.segments = std::move(target->segments);
    request.query = std::move(target->query);
    for (const auto& field : message) {
        request.headers.emplace_back(std::string(field.name_string()), std::string(field.value()));
    }
    request.body = std::move(message.body());
    request.peer = peer_;
    set_phase(Phase::handling);
    disarm();
    free_reading();
    ++state_->counters.requests_waiting;
    exchange_->channel =
        std::make_shared<Channel>(state_->mailbox, weak_from_this(), ++exchange_number_);
    watch_for_hang_up();
    Reply reply(exchange_->channel);
    try {
        state_->handler(std::move(request), std::move(reply));
    } catch (...) {
        // The reply has been dropped on the way here, or will be below: the client gets a 500.
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
    --state_->counters.requests_waiting;
    exchange_->channel.reset();
    socket_.cancel(); // watch_for_hang_up()
    write(response);
}

void ClientConnection::refuse(const Refusal& refusal) {
    keep_alive_ = false;
    if (refusal.counter != nullptr) {
        ++(state_->counters.*refusal.counter);
    }
    write(to_response(refusal.problem));
}

void ClientConnection::write(const Response& response) {
    keep_alive_ = keep_alive_ && !state_->stopping;
    set_phase(Phase::writing);
    status_ = response.status;
    out_head_ = response_head(
        response, {.keep_alive = keep_alive_, .minor_version = exchange_->minor_version});
    const bool bodiless = exchange_->method == "HEAD" || status_ == 204 || status_ == 304;
    out_body_ = bodiless ? std::string() : response.body;
    arm(state_->limits.write);
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
    arm(state_->limits.linger);
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
    if (exchange->channel != nullptr) {
        exchange->channel->abandon();
        --counters.requests_waiting;
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
    if (state_->log) {
        state_->log(
            {exchange->method, exchange->target, status,
             std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - exchange->start),
             peer_});
    }
}

// --- event streams

void ClientConnection::stream(std::uint64_t exchange, StreamResponse response) {
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
    --state_->counters.requests_waiting;
    exchange_->channel.reset();
    set_phase(Phase::streaming);
    keep_alive_ = false;
    status_ = head.status;
    out_head_ = response_head(head, {.keep_alive = false, .chunked = is_chunked()});
    start_stream(std::move(response));
}

void ClientConnection::start_stream(StreamResponse source) {
    ++state_->counters.streams;
    ++state_->counters.streams_open;
    streaming_ = std::make_unique<Streaming>();
    streaming_->source = std::move(source);
    auto& events = *streaming_->source.events;
    const auto start = events.resume(streaming_->source.last_event_id);
    streaming_->position = start.position;
    // Publishers post once until the loop has looked, however many events they have.
    auto awake = std::make_shared<std::atomic<bool>>(false);
    streaming_->subscription =
        events.subscribe([awake, mailbox = state_->mailbox, weak = weak_from_this()] {
            if (!awake->exchange(true)) {
                mailbox->post([awake, weak] {
                    awake->store(false);
                    if (const auto self = weak.lock()) {
                        self->pump();
                    }
                });
            }
        });
    // After a loss the client must list everything again; the id lets it resume from here.
    write_stream(start.lost ? format_event(events.id_before(start.position), {"resync", ""})
                            : std::string(": open\n\n"));
}

/// Writes what has been published, unless a write is under way that will come back here.
void ClientConnection::pump() {
    if (phase_ != Phase::streaming || streaming_->writing || streaming_->ending) {
        return;
    }
    while (true) {
        const auto before = streaming_->position;
        const auto& source = streaming_->source;
        auto batch = source.events->read(streaming_->position, source.filter, event_batch);
        if (batch.lost) {
            ++state_->counters.streams_dropped;
            close();
            return;
        }
        if (!batch.text.empty()) {
            write_stream(std::move(batch.text));
            return;
        }
        if (before == streaming_->position) {
            return;
        }
    }
}

void ClientConnection::write_stream(std::string text) {
    streaming_->writing = true;
    out_body_ = text.empty() ? std::string("0\r\n\r\n") : is_chunked() ? chunk(text) : text;
    arm(state_->limits.write);
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
    arm(state_->limits.heartbeat);
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

} // namespace

std::shared_ptr<Connection> make_connection(std::shared_ptr<ServerState> state, UniqueFd fd,
                                            Peer peer) {
    return std::make_shared<ClientConnection>(std::move(state), std::move(fd), peer);
}

} // namespace vgpu::http
