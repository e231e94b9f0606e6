#pragma once

#include "agent/http/limits.hpp"
#include "agent/http/listener.hpp"
#include "agent/http/loop.hpp"
#include "agent/http/reply.hpp"

#include <chrono>
#include <functional>
#include <memory>

namespace vgpu::http {

/// HTTP/1.1 on a Unix socket: hands every request that keeps the limits to one handler, and answers
/// the rest itself. Without connections it has no timer and never wakes up.
///
/// All functions and the destructor are for the loop's thread (or while the loop does not run); a
/// handler and the access log may call them too.
class Server {
public:
    /// Serves from the next turn of the loop on. The loop must outlive the server.
    Server(Loop& loop, Listener listener, Limits limits, Handler handler, AccessLog log = {});
    /// Closes everything at once, and drops handler and log with what they hold; replies that come
    /// later are discarded.
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    /// Accepts no more, closes idle connections and event streams, lets the requests in flight end
    /// for up to `grace`, closes what is left, and calls `done` on the loop, unless the server was
    /// destroyed before. Only the first counts.
    void stop(std::chrono::milliseconds grace, std::function<void()> done);

    [[nodiscard]] const Counters& counters() const;

private:
    class Impl;
    std::shared_ptr<Impl> impl_;
};

} // namespace vgpu::http
