#include "agent/http/server.hpp"

#include "agent/http/problem.hpp"
#include "agent/http/response_head.hpp"
#include "agent/http/server_state.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <utility>
#include <vector>

namespace vgpu::http {

namespace net = boost::asio;
using boost::system::error_code;

namespace {

/// One turn of the loop accepts no more than this, so that the others are served too.
constexpr int accept_burst = 32;
constexpr std::chrono::milliseconds first_pause{50};
constexpr std::chrono::milliseconds longest_pause{1000};

Peer peer_of(int fd) {
    ucred credentials{};
    socklen_t size = sizeof credentials;
    if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) {
        return {};
    }
    return {credentials.pid, credentials.uid, credentials.gid};
}

/// Tells a client that there is no room for it, if its socket takes that without waiting.
void refuse(int fd) {
    auto problem = protocol_problem(503, "too_many_connections",
                                    "virt-vgpud has as many connections as it may; close some, or "
                                    "try again later");
    problem.retry_after = std::chrono::seconds(1);
    const Response response = to_response(problem);
    const std::string text = response_head(response, {.keep_alive = false}) + response.body;
    (void)::send(fd, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

} // namespace

void Mailbox::post(std::function<void()> work) {
    const std::lock_guard lock(mutex_);
    if (context_ != nullptr) {
        net::post(*context_, std::move(work));
    }
}

void Mailbox::close() {
    const std::lock_guard lock(mutex_);
    context_ = nullptr;
}

void ServerState::remove(const std::shared_ptr<Connection>& connection) {
    if (connections.erase(connection) == 0) {
        return;
    }
    --counters.connections_open;
    if (connections.empty() && on_last_closed) {
        std::exchange(on_last_closed, nullptr)();
    }
}

class Server::Impl : public std::enable_shared_from_this<Impl> {
public:
    Impl(net::io_context& context, Listener listener, std::shared_ptr<ServerState> state)
        : state_(std::move(state)), listener_(std::make_unique<Listener>(std::move(listener))),
          descriptor_(context), timer_(state_->timers, [this] { expired(); }) {}

    void start() {
        // The listener keeps the descriptor: Asio only watches it.
        descriptor_.assign(listener_->fd());
        wait();
    }

    void stop(std::chrono::milliseconds grace, std::function<void()> done) {
        if (state_->stopping) {
            return;
        }
        state_->stopping = true;
        close_listener();
        state_->on_last_closed = [weak = weak_from_this(), done = std::move(done)] {
            if (const auto self = weak.lock()) {
                self->tell_stopped(done);
            }
        };
        timer_.set(grace);
        for (const auto& connection : snapshot()) {
            connection->wind_up();
        }
        if (state_->connections.empty() && state_->on_last_closed) {
            std::exchange(state_->on_last_closed, nullptr)();
        }
    }

    void abort() {
        aborted_ = true;
        state_->stopping = true;
        state_->on_last_closed = nullptr;
        state_->mailbox->close();
        close_listener();
        timer_.cancel();
        close_connections();
        state_->timers->close();
        state_->handler.reset();
        state_->log.reset();
    }

    [[nodiscard]] const Counters& counters() const { return state_->counters; }

private:
    void expired() {
        const auto self = shared_from_this();
        if (listener_ != nullptr) {
            accept_all();
        } else {
            close_connections();
        }
    }
    void tell_stopped(std::function<void()> done) {
        timer_.cancel();
        net::post(state_->context, [weak = weak_from_this(), done = std::move(done)] {
            const auto self = weak.lock();
            if (self != nullptr && !self->aborted_) {
                done();
            }
        });
    }
    [[nodiscard]] std::vector<std::shared_ptr<Connection>> snapshot() const {
        return {state_->connections.begin(), state_->connections.end()};
    }
    void close_connections() {
        for (const auto& connection : snapshot()) {
            connection->close();
        }
    }
    void close_listener() {
        if (listener_ != nullptr) {
            descriptor_.release();
            timer_.cancel();
            listener_.reset();
        }
    }

    void wait() {
        descriptor_.async_wait(net::posix::stream_descriptor::wait_read,
                               [self = shared_from_this()](error_code error) {
                                   if (!error && self->listener_ != nullptr) {
                                       self->accept_all();
                                   }
                               });
    }

    void accept_all() {
        for (int i = 0; i < accept_burst; ++i) {
            UniqueFd fd(::accept4(listener_->fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
            if (fd) {
                pause_ = first_pause;
                admit(std::move(fd));
            } else if (errno == EAGAIN) {
                break;
            } else if (errno != ECONNABORTED && errno != EINTR) {
                // Out of descriptors or memory: the client stays in the queue, and trying at once
                // again would only take the time that ends other connections.
                ++state_->counters.accept_errors;
                wait_longer();
                return;
            }
        }
        wait();
    }

    void wait_longer() {
        timer_.set(std::exchange(pause_, std::min(pause_ * 2, longest_pause)));
    }

    void admit(UniqueFd fd) {
        if (state_->connections.size() >= state_->limits.connections) {
            ++state_->counters.connections_refused;
            refuse(fd.get());
            return;
        }
        ++state_->counters.connections;
        ++state_->counters.connections_open;
        const Peer peer = peer_of(fd.get());
        const auto connection = make_connection(state_, std::move(fd), peer);
        state_->connections.insert(connection);
        connection->start();
    }

    std::shared_ptr<ServerState> state_;
    std::unique_ptr<Listener> listener_;
    net::posix::stream_descriptor descriptor_;
    Timer timer_; ///< runs after a failed accept, and while stopping
    std::chrono::milliseconds pause_ = first_pause;
    bool aborted_ = false;
};

Server::Server(Loop& loop, Listener listener, Limits limits, Handler handler, AccessLog log) {
    auto& context = loop.context();
    auto state = std::make_shared<ServerState>(
        ServerState{context, std::make_shared<Mailbox>(context), Timers::create(context), limits,
                    std::make_shared<const Handler>(std::move(handler)),
                    std::make_shared<const AccessLog>(std::move(log))});
    impl_ = std::make_shared<Impl>(context, std::move(listener), std::move(state));
    impl_->start();
}

Server::~Server() {
    impl_->abort();
}

void Server::stop(std::chrono::milliseconds grace, std::function<void()> done) {
    impl_->stop(grace, std::move(done));
}

const Counters& Server::counters() const {
    return impl_->counters();
}

} // namespace vgpu::http
