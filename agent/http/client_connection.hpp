#pragma once

#include "agent/http/channel.hpp"
#include "agent/http/refusal.hpp"
#include "agent/http/server_state.hpp"
#include "agent/http/target.hpp"

#include <boost/asio/local/stream_protocol.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace vgpu::http {

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
    /// `events` are those of `response`, taken while they were certainly there.
    void stream(std::uint64_t exchange, StreamResponse response, std::shared_ptr<EventHistory> events);
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
        HeaderFields headers;         ///< without the trailers of a chunked body
        std::size_t head_bytes = 0;   ///< up to the body
        std::size_t body_bytes = 0;   ///< set aside, until the handler has it
        std::size_t answer_bytes = 0; ///< counted, 0 if small
        std::shared_ptr<Channel> channel;
    };
    struct Streaming {
        std::shared_ptr<EventHistory> events;
        std::shared_ptr<EventStream> owned; ///< for those who let the stream live by this alone
        EventFilter filter;
        std::uint64_t position = 0;
        std::shared_ptr<void> subscription;
        bool writing = false;
        bool ending = false;
    };

    void wait_for_request();
    void read_request();
    void receive();
    void received(boost::system::error_code error);
    void parse();
    bool header_complete();
    std::optional<Refusal> check_progress() const;
    std::optional<Refusal> reserve_body();
    [[nodiscard]] Refusal refusal_of(boost::system::error_code error) const;
    [[nodiscard]] Refusal too_large() const;
    void send_continue();
    void note_first_line();
    Request take_request(Target target);
    void dispatch();
    void watch_for_hang_up();
    void refuse(const Refusal& refusal);
    void write(Response response);
    bool count_answer(std::size_t bytes);
    void written();
    void linger(std::size_t left);
    void start_stream(StreamResponse response, std::shared_ptr<EventHistory> events);
    void subscribe();
    void write_stream(std::string text);
    void stream_written();
    void end_stream();
    [[nodiscard]] bool is_chunked() const { return exchange_->minor_version == 1; }
    void expired();
    void end_exchange(int status);
    void set_phase(Phase phase) { phase_ = phase; }
    void free_reading();

    std::shared_ptr<ServerState> state_;
    boost::asio::local::stream_protocol::socket socket_;
    Timer timer_;
    const Peer peer_;
    Phase phase_ = Phase::idle;
    bool keep_alive_ = true;
    bool timed_out_ = false;
    std::uint64_t exchange_number_ = 0;
    int status_ = 0;
    std::shared_ptr<Reading> reading_; ///< a read under way keeps it as well
    std::unique_ptr<Exchange> exchange_;
    std::shared_ptr<Streaming> streaming_;
    std::string out_head_;
    std::string out_body_;
};

} // namespace vgpu::http
