#include "agent/http/client.hpp"

#include "agent/http/client_reader.hpp"
#include "agent/http/client_socket.hpp"
#include "agent/http/problem.hpp"

#include <algorithm>
#include <utility>

namespace vgpu::http {

namespace {

bool is_clean(std::string_view text) {
    return std::none_of(text.begin(), text.end(),
                        [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

/// `invalid` if a part of it would forge another line.
Result<std::string> format_request(const ClientRequest& request) {
    const std::string first = request.method + " " + request.target;
    bool clean = is_clean(first) && request.target.find(' ') == std::string::npos;
    std::string text = first + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
    for (const auto& [name, value] : request.headers) {
        clean = clean && is_clean(name) && is_clean(value);
        text.append(name).append(": ").append(value).append("\r\n");
    }
    if (!clean) {
        return fail(ErrorCode::invalid, "the request to virt-vgpud has spaces or control "
                                        "characters where none may be: " +
                                            printable(first, 100));
    }
    if (!request.body.empty() && header_value(request.headers, "Content-Type").empty()) {
        text += "Content-Type: application/json\r\n";
    }
    if (!request.body.empty() || request.method != "GET") {
        text += "Content-Length: " + std::to_string(request.body.size()) + "\r\n";
    }
    return text + "\r\n" + request.body;
}

Error failure_of(const ClientResponse& response) {
    return error_of(response.status, header_value(response.headers, "Content-Type"), response.body);
}

/// Reads on until the answer is complete.
Result<void> read_all(ClientSocket& socket, ResponseReader& reader, Deadline deadline) {
    std::string buffer;
    while (!reader.is_done()) {
        VGPU_TRY_ASSIGN(const auto bytes, socket.receive(buffer, deadline));
        if (!bytes || bytes->empty()) {
            return reader.end();
        }
        VGPU_TRY(reader.feed(*bytes));
    }
    return {};
}

} // namespace

Result<ClientResponse> Client::request(const ClientRequest& request, Deadline deadline) const {
    VGPU_TRY_ASSIGN(const std::string text, format_request(request));
    VGPU_TRY_ASSIGN(ClientSocket socket, ClientSocket::connect(path_, deadline));
    VGPU_TRY(socket.send(text, deadline));
    ResponseReader reader(limits_, request.method == "HEAD");
    VGPU_TRY(read_all(socket, reader, deadline));
    if (reader.response.status >= 400) {
        return fail(failure_of(reader.response));
    }
    return std::move(reader.response);
}

Result<StreamEnd> Client::events(const EventRequest& request, Deadline head,
                                 std::chrono::milliseconds silence,
                                 const std::function<bool(const ReceivedEvent&)>& each) const {
    ClientRequest get;
    get.target = request.target;
    get.headers.emplace_back("Accept", "text/event-stream");
    if (!request.last_event_id.empty()) {
        get.headers.emplace_back("Last-Event-ID", request.last_event_id);
    }
    VGPU_TRY_ASSIGN(const std::string text, format_request(get));
    VGPU_TRY_ASSIGN(ClientSocket socket, ClientSocket::connect(path_, head));
    VGPU_TRY(socket.send(text, head));
    ResponseReader reader(limits_, false);
    EventReader events(limits_.event);
    std::string buffer;
    while (!reader.is_done()) {
        const Deadline deadline = reader.has_head() ? Deadline::in(silence) : head;
        VGPU_TRY_ASSIGN(const auto bytes, socket.receive(buffer, deadline, request.cancel_fd));
        if (!bytes) {
            return StreamEnd::cancelled;
        }
        if (bytes->empty()) {
            // Without a proper end the daemon was killed or dropped us: the same to the caller.
            return reader.has_head() && reader.response.status < 400
                       ? Result<StreamEnd>(StreamEnd::closed)
                       : Result<StreamEnd>(
                             fail(ErrorCode::io, "virt-vgpud closed the connection unanswered"));
        }
        VGPU_TRY(reader.feed(*bytes));
        if (!reader.has_head()) {
            continue;
        }
        if (reader.response.status >= 400) {
            VGPU_TRY(read_all(socket, reader, head));
            return fail(failure_of(reader.response));
        }
        if (!header_value(reader.response.headers, "Content-Type")
                 .starts_with("text/event-stream")) {
            return fail(ErrorCode::io, "virt-vgpud answered something else than events to " +
                                           printable(request.target, 100));
        }
        VGPU_TRY_ASSIGN(const auto found, events.feed(std::exchange(reader.response.body, {})));
        for (const auto& event : found) {
            if (!each(event)) {
                return StreamEnd::cancelled;
            }
        }
    }
    return StreamEnd::closed;
}

} // namespace vgpu::http
