#pragma once

#include "agent/http/refusal.hpp"
#include "agent/http/server_state.hpp"
#include "agent/http/target.hpp"

#include <atomic>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace vgpu::http {

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

/// One client's connection, from its accept to its close. Its parts are in three sources: reading
/// requests (beast_server.cpp), handling and answering them (client_connection.cpp), and event
/// streams (stream_connection.cpp).
class ClientConnection : public Connection, public std::enable_shared_from_this<ClientConnection> {
public:
    ClientConnection(std::shared_ptr<ServerState> state, UniqueFd fd, Peer peer);
    ~ClientConnection() override;

    void start() override { wait_for_request(); }
    void wind_up() override;
    void close() override;
    void respond(std::uint64_t exchange, Response response);
    void stream(std::uint64_t exchange, StreamResponse response);
    void pump();

private:
    enum class Phase { idle, reading, handling, writing, streaming, lingering, closed };
    struct Reading; ///< what only Beast's own source knows
    struct Exchange {
        std::string method;
        std::string target;     ///< printable
        std::string raw_target; ///< as sent
        std::chrono::steady_clock::time_point start;
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
    void header_read(boost::system::error_code error);
    void body_read(boost::system::error_code error);
    std::optional<Refusal> check_header();
    std::optional<Refusal> reserve_body();
    Refusal refusal_of(boost::system::error_code error) const;
    void send_continue();
    Request take_request(Target target);
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
    boost::asio::local::stream_protocol::socket socket_;
    boost::asio::steady_timer timer_;
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

} // namespace vgpu::http
