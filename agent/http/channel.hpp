#pragma once

#include "agent/http/server_state.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

namespace vgpu::http {

class ClientConnection;

/// What a Reply holds: enough to find its request again, nothing that keeps the connection.
///
/// The request counts as waiting, and its body as held, until the reply is given: the handler may
/// have both in a queue, and clients that ask and go at once must not fill that.
class Channel : public ReplyChannel {
public:
    Channel(const std::shared_ptr<ServerState>& state, std::weak_ptr<ClientConnection> connection,
            std::uint64_t exchange, std::size_t body_bytes)
        : mailbox_(state->mailbox), state_(state), connection_(std::move(connection)),
          exchange_(exchange), body_bytes_(body_bytes) {}
    void respond(Response response) override;
    void stream(StreamResponse response) override;
    [[nodiscard]] bool abandoned() const override { return abandoned_.load(); }
    void abandon() { abandoned_.store(true); }

private:
    /// Calls `answer` on the loop, if the connection is still there.
    void deliver(std::function<void(ClientConnection&)> answer);

    std::shared_ptr<Mailbox> mailbox_;
    std::weak_ptr<ServerState> state_;
    std::weak_ptr<ClientConnection> connection_;
    std::uint64_t exchange_;
    std::size_t body_bytes_;
    std::atomic<bool> abandoned_{false};
};

} // namespace vgpu::http
