#pragma once

#include "agent/core/unique_fd.hpp"
#include "agent/http/limits.hpp"
#include "agent/http/reply.hpp"
#include "agent/http/timers.hpp"

#include <functional>
#include <memory>
#include <mutex>
#include <unordered_set>

namespace boost::asio {
class io_context;
}

namespace vgpu::http {

/// The way back to the loop for other threads, which may outlive it.
class Mailbox {
public:
    explicit Mailbox(boost::asio::io_context& context) : context_(&context) {}
    /// Calls `work` on the loop; nothing once closed.
    void post(std::function<void()> work);
    void close();

private:
    std::mutex mutex_;
    boost::asio::io_context* context_;
};

/// A connection as the server sees it: on the loop's thread only.
class Connection {
public:
    Connection() = default;
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;
    virtual ~Connection() = default;
    virtual void start() = 0;
    /// Ends when the request at hand is answered; at once if there is none.
    virtual void wind_up() = 0;
    virtual void close() = 0;
};

/// What the connections of one server share; on the loop's thread only, except the mailbox.
struct ServerState {
    boost::asio::io_context& context;
    std::shared_ptr<Mailbox> mailbox;
    std::shared_ptr<Timers> timers;
    Limits limits;
    /// Gone with the server, as is what they hold; whoever calls one keeps it, since the call may
    /// end the server.
    std::shared_ptr<const Handler> handler;
    std::shared_ptr<const AccessLog> log;
    Counters counters{};
    bool stopping = false;
    std::unordered_set<std::shared_ptr<Connection>> connections{};
    std::function<void()> on_last_closed{}; ///< set while stopping

    /// A connection has closed.
    void remove(const std::shared_ptr<Connection>& connection);
};

/// Takes over an accepted, non-blocking socket; nothing happens before start().
std::shared_ptr<Connection> make_connection(std::shared_ptr<ServerState> state, UniqueFd fd,
                                            Peer peer);

} // namespace vgpu::http
