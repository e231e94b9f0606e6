#pragma once

#include "agent/core/deadline.hpp"
#include "agent/core/result.hpp"
#include "agent/http/event_reader.hpp"
#include "agent/http/message.hpp"

#include <functional>
#include <string>

namespace vgpu::http {

/// What an answer may have at most, in bytes: a confused server must not fill a client's memory.
struct ClientLimits {
    std::size_t head = std::size_t{64} << 10U;
    std::size_t body = std::size_t{64} << 20U;
    std::size_t event = std::size_t{4} << 20U;
};

struct ClientRequest {
    std::string method = "GET";
    std::string target = "/"; ///< parts that come from outside: encode_segment()
    HeaderFields headers;
    std::string body; ///< sent as application/json unless `headers` has a Content-Type
};

struct ClientResponse {
    int status = 0;
    HeaderFields headers;
    std::string body;
};

/// Why events() came back without an error.
enum class StreamEnd {
    cancelled, ///< the descriptor became readable, or the callback said no
    closed,    ///< the server ended the stream: connect again with the last id
};

/// The command line's way to virt-vgpud: one request, one connection; blocks. Safe to be used by
/// several threads.
class Client {
public:
    explicit Client(std::string socket_path, ClientLimits limits = {})
        : path_(std::move(socket_path)), limits_(limits) {}

    /// The answer, if its status is below 400; else the failure that it tells (error_of()).
    /// `unavailable` without a server, `denied` without the right to it, `timeout`, and `io` for
    /// an answer that is no HTTP, too large, or breaks off. A failed request may have been done.
    [[nodiscard]] Result<ClientResponse> request(const ClientRequest& request,
                                                 Deadline deadline) const;

    struct EventRequest {
        std::string target;
        std::string last_event_id; ///< empty: only what comes from now on
        int cancel_fd = -1;        ///< ends the stream when it becomes readable; not read from
    };
    /// Calls `each` with every event until it returns false, the stream ends or is cancelled.
    /// `head` is for the answer to begin; then `silence` is how long nothing at all may come (the
    /// server sends comments): `timeout` after it.
    [[nodiscard]] Result<StreamEnd>
    events(const EventRequest& request, Deadline head, std::chrono::milliseconds silence,
           const std::function<bool(const ReceivedEvent&)>& each) const;

private:
    std::string path_;
    ClientLimits limits_;
};

} // namespace vgpu::http
