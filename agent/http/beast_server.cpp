// Everything that knows Beast, in one source: it takes longer to compile than the rest.
#include "agent/http/client_connection.hpp"
#include "agent/http/text.hpp"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
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

bool ends_silently(error_code error) {
    return error == HttpError::end_of_stream ||
           (error.category() != make_error_code(HttpError::end_of_stream).category());
}

} // namespace

struct ClientConnection::Reading {
    explicit Reading(std::size_t limit) : buffer(limit) {}
    beast::flat_buffer buffer;
    std::optional<Parser> parser;
};

ClientConnection::ClientConnection(std::shared_ptr<ServerState> state, UniqueFd fd, Peer peer)
    : state_(std::move(state)), socket_(state_->context), timer_(state_->context), peer_(peer) {
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
    exchange_->start = std::chrono::steady_clock::now();
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
    keep_alive_ = keep_alive_ && message.keep_alive();
    exchange_->raw_target = std::string(message.target());
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

Request ClientConnection::take_request(Target target) {
    auto& message = reading_->parser->get();
    Request request;
    request.method = std::string(message.method_string());
    request.path = std::move(target.path);
    request.segments = std::move(target.segments);
    request.query = std::move(target.query);
    for (const auto& field : message) {
        request.headers.emplace_back(std::string(field.name_string()), std::string(field.value()));
    }
    request.body = std::move(message.body());
    request.peer = peer_;
    return request;
}

} // namespace vgpu::http
