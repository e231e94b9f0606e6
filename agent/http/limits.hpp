#pragma once

#include "agent/http/message.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

namespace vgpu::http {

/// What one server grants its clients; sizes in bytes. Together they bound its memory, whatever the
/// clients do: about connections * (2 * header + small_answer) + bodies + answers, and the events of
/// `streams` readers that wait in one batch each.
struct Limits {
    using Duration = std::chrono::milliseconds;
    std::size_t header = std::size_t{16} << 10U;      ///< first line and header fields: 431
    std::size_t fields = 128;                         ///< number of header fields: 431
    std::size_t request_line = std::size_t{8} << 10U; ///< 414
    std::size_t body = std::size_t{1} << 20U;         ///< of one request: 413
    /// What a chunked body may have besides its data: sizes, extensions, trailers: 413.
    std::size_t framing = std::size_t{256} << 10U;
    /// Of all requests together that are being read or not answered yet: 503.
    std::size_t bodies = std::size_t{64} << 20U;
    /// Of all answers that clients have not taken yet: 503 in their place. Small ones always go.
    std::size_t answers = std::size_t{64} << 20U;
    std::size_t small_answer = std::size_t{16} << 10U;
    std::size_t connections = 1024; ///< above: 503 and closed, so nobody waits in the dark
    /// Requests that a handler has not answered yet, also those whose client has gone: 503.
    std::size_t waiting = 256;
    std::size_t streams = 64;                      ///< event streams: 503
    Duration read = std::chrono::seconds(10);      ///< from a request's first byte to its last: 408
    Duration idle = std::chrono::seconds(60);      ///< between requests
    Duration write = std::chrono::seconds(10);     ///< for one answer, or one batch of events
    Duration linger = std::chrono::seconds(2);     ///< to let a refused client read why
    Duration heartbeat = std::chrono::seconds(15); ///< comments on a silent event stream
};

/// Only read and written on the loop's thread. Plain numbers since the server's start, unless
/// named `open` or `waiting`.
struct Counters {
    std::uint64_t connections = 0;
    std::uint64_t connections_open = 0;
    std::uint64_t connections_refused = 0;            ///< over Limits::connections
    std::uint64_t accept_errors = 0;                  ///< such as no file descriptors left
    std::array<std::uint64_t, 6> requests_by_class{}; ///< [2]: answers 200 to 299, and so on
    std::uint64_t requests_waiting = 0; ///< at the handlers, also of clients that have gone
    std::uint64_t requests_refused = 0;   ///< over any other limit: 413, 414, 431, 503
    std::uint64_t requests_malformed = 0; ///< 400 and closed
    std::uint64_t requests_abandoned = 0; ///< the client went before its answer
    std::uint64_t timeouts = 0;           ///< reads and writes that took too long
    std::uint64_t body_bytes = 0;         ///< set aside for the requests being served
    std::uint64_t answer_bytes = 0;       ///< of answers that are not small and being sent
    std::uint64_t streams = 0;
    std::uint64_t streams_open = 0;
    std::uint64_t streams_dropped = 0; ///< readers that were too slow
};

/// One request that is over.
struct AccessRecord {
    std::string method; ///< printable, cut
    std::string target; ///< printable, cut; empty if it could not be read
    int status = 0;     ///< 0: the client went before an answer
    std::chrono::microseconds duration{};
    Peer peer;
};

/// Called on the loop's thread; must not block.
using AccessLog = std::function<void(const AccessRecord&)>;

} // namespace vgpu::http
