// Everything that knows Beast, in one source: it takes longer to compile than the rest.
#include "agent/http/client_connection.hpp"
#include "agent/http/header_check.hpp"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <iterator>
#include <utility>

namespace vgpu::http {

namespace net = boost::asio;
namespace beast = boost::beast;
using boost::system::error_code;
using Parser = beast::http::request_parser<beast::http::string_body>;
using HttpError = beast::http::error;

namespace {

/// How much of a next request may be read along with the one at hand.
constexpr std::size_t read_ahead = std::size_t{8} << 10U;

constexpr std::size_t one_read = std::size_t{16} << 10U;

} // namespace

struct ClientConnection::Reading {
    explicit Reading(std::size_t limit) : buffer(limit) {}
    beast::flat_buffer buffer;
    std::optional<Parser> parser;
    std::size_t taken = 0; ///< bytes of the request at hand that the parser has had
};

ClientConnection::ClientConnection(std::shared_ptr<ServerState> state, UniqueFd fd, Peer peer)
    : state_(std::move(state)), socket_(state_->context), timer_(state_->timers, [this] { expired(); }), peer_(peer) {
    error_code error;
    socket_.assign(net::local::stream_protocol(), fd.get(), error);
    if (!error) {
        (void)fd.release();
    }
}

ClientConnection::~ClientConnection() = default;

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
    timer_.set(state_->limits.idle);
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
    timer_.set(state_->limits.read);
    timed_out_ = false;
    if (reading_ == nullptr) {
        reading_ = std::make_shared<Reading>(state_->limits.header + read_ahead);
    }
    exchange_ = std::make_unique<Exchange>();
    exchange_->start = std::chrono::steady_clock::now();
    auto& parser = reading_->parser.emplace();
    parser.header_limit(static_cast<std::uint32_t>(state_->limits.header));
    parser.body_limit(state_->limits.body);
    reading_->taken = 0;
    parse();
}

void ClientConnection::receive() {
    auto& buffer = reading_->buffer;
    const std::size_t room = std::min(buffer.max_size() - buffer.size(), one_read);
    if (room == 0) {
        refuse(too_large());
        return;
    }
    // The read keeps its buffer, which may be given up while it is under way.
    socket_.async_read_some(
        buffer.prepare(room),
        [self = shared_from_this(), reading = reading_](error_code error, std::size_t count) {
            reading->buffer.commit(count);
            self->received(error);
        });
}

void ClientConnection::received(error_code error) {
    if (phase_ != Phase::reading) {
        return;
    }
    if (timed_out_) {
        refuse({protocol_problem(408, "request_timeout",
                                 "the request was not complete after " +
                                     std::to_string(state_->limits.read.count()) + " ms"),
                nullptr});
    } else if (!error) {
        parse();
    } else if (error == net::error::eof && reading_->taken + reading_->buffer.size() > 0) {
        refuse(malformed("the request ends in the middle"));
    } else {
        if (reading_->taken + reading_->buffer.size() == 0) {
            exchange_.reset(); // there was no request
        }
        close();
    }
}

/// Takes what has been received, and asks for more until the request is complete.
///
/// Beast's own read functions go on until a header is complete, and its header limit is one for each
/// piece that ends with a line: a client that sends line by line would be read for ever.
void ClientConnection::parse() {
    auto& buffer = reading_->buffer;
    auto& parser = *reading_->parser;
    while (buffer.size() > 0 && !parser.is_done()) {
        error_code error;
        const bool was_in_header = !parser.is_header_done();
        const std::size_t used = parser.put(buffer.data(), error);
        buffer.consume(used);
        reading_->taken += used;
        if (error && error != HttpError::need_more) {
            refuse(refusal_of(error));
            return;
        }
        if (const auto refusal = check_progress()) {
            refuse(*refusal);
            return;
        }
        if (was_in_header && parser.is_header_done()) {
            if (!header_complete()) {
                return;
            }
        } else if (error) {
            break;
        }
    }
    parser.is_done() ? dispatch() : receive();
}

/// False if that was all there is to do at present.
bool ClientConnection::header_complete() {
    const auto& message = reading_->parser->get();
    note_first_line();
    exchange_->head_bytes = reading_->taken;
    exchange_->minor_version = message.version() == 10 ? 0 : 1;
    keep_alive_ = keep_alive_ && message.keep_alive();
    exchange_->raw_target = std::string(message.target());
    for (const auto& field : message) {
        exchange_->headers.emplace_back(std::string(field.name_string()),
                                        std::string(field.value()));
    }
    auto refusal = check_header(exchange_->headers, exchange_->raw_target,
                                exchange_->minor_version, state_->limits);
    if (!refusal && !reading_->parser->is_done()) {
        refusal = reserve_body();
    }
    if (refusal) {
        refuse(*refusal);
        return false;
    }
    reading_->parser->eager(true);
    if (reading_->parser->is_done() || message[beast::http::field::expect].empty()) {
        return true;
    }
    send_continue();
    return false;
}

void ClientConnection::note_first_line() {
    const auto& message = reading_->parser->get();
    exchange_->method =
        printable({message.method_string().data(), message.method_string().size()}, 20);
    exchange_->target = printable({message.target().data(), message.target().size()});
}

/// Whether the request at hand keeps the limits so far.
std::optional<Refusal> ClientConnection::check_progress() const {
    const auto& limits = state_->limits;
    const auto& parser = *reading_->parser;
    const auto& message = parser.get();
    if (exchange_->head_bytes > 0) {
        const std::size_t framing =
            reading_->taken - exchange_->head_bytes - message.body().size();
        return framing > limits.framing ? std::optional(too_large()) : std::nullopt;
    }
    const std::size_t unparsed = parser.is_header_done() ? 0 : reading_->buffer.size();
    const bool in_first_line = message.method_string().empty();
    const auto fields = static_cast<std::size_t>(std::distance(message.begin(), message.end()));
    if (reading_->taken + unparsed > (in_first_line ? limits.request_line : limits.header) ||
        fields > limits.fields) {
        return too_large();
    }
    return std::nullopt;
}

void ClientConnection::send_continue() {
    out_head_ = "HTTP/1.1 100 Continue\r\n\r\n";
    net::async_write(socket_, net::buffer(out_head_),
                     [self = shared_from_this()](error_code error, std::size_t) {
                         if (self->phase_ == Phase::reading) {
                             error ? self->close() : self->received({});
                         }
                     });
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
    if (error == HttpError::body_limit) {
        return over_limit(413, "body_too_large",
                          "a request's body may have " + std::to_string(state_->limits.body) +
                              " bytes");
    }
    if (error == HttpError::header_limit) {
        return too_large();
    }
    if (error == HttpError::bad_version) {
        return malformed("the first line of the request does not end in 'HTTP/1.1' and CR LF");
    }
    return malformed("the request is no HTTP: " + error.message());
}

/// The refusal for the part that is being read.
Refusal ClientConnection::too_large() const {
    const auto& limits = state_->limits;
    if (exchange_->head_bytes > 0) {
        return over_limit(413, "framing_too_large",
                          "the sizes, extensions and trailers of a body's chunks may have " +
                              std::to_string(limits.framing) + " bytes, and one line of them " +
                              std::to_string(limits.header));
    }
    if (reading_->parser->get().method_string().empty()) {
        return over_limit(414, "target_too_long", "the request's first line is too long");
    }
    return over_limit(431, "header_too_large",
                      "a request's header may have " + std::to_string(limits.header) +
                          " bytes in " + std::to_string(limits.fields) + " fields");
}

Request ClientConnection::take_request(Target target) {
    auto& message = reading_->parser->get();
    Request request;
    request.method = std::string(message.method_string());
    request.path = std::move(target.path);
    request.segments = std::move(target.segments);
    request.query = std::move(target.query);
    request.headers = std::move(exchange_->headers);
    request.body = std::move(message.body());
    request.body.shrink_to_fit(); // what grew chunk by chunk has up to twice its size
    const std::size_t used = std::min(exchange_->body_bytes, request.body.size());
    state_->counters.body_bytes -= std::exchange(exchange_->body_bytes, used) - used;
    request.peer = peer_;
    return request;
}

} // namespace vgpu::http
