#pragma once

#include "agent/http/router.hpp"
#include "agent/http/server.hpp"
#include "tests/support/temp_dir.hpp"
#include "tests/unit/http/raw_client.hpp"

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace vgpu::test {

/// A server with its loop on a thread of its own. Routes: GET /hello, POST /echo, /held and
/// GET /events (see below), POST /fields (answers the request's header), GET /things/{id},
/// GET /throws.
class TestServer {
public:
    explicit TestServer(http::Limits limits = {});
    ~TestServer();
    TestServer(const TestServer&) = delete;
    TestServer& operator=(const TestServer&) = delete;

    [[nodiscard]] std::string path() const { return dir_ / "api.sock"; }
    http::EventStream& events() { return *events_; }

    /// Runs it on the loop, and waits for it.
    void on_loop(const std::function<void()>& work);
    /// Turns of the loop until it holds.
    void wait_until(const std::function<bool(const http::Counters&)>& condition);
    /// Turns of the loop until the server has read all that the client sent.
    void wait_until_read(const RawClient& client);
    http::Counters counters();
    /// stop(); the returned function waits until it is done.
    std::function<void()> stop(std::chrono::milliseconds grace);
    /// Destroys the server while its loop goes on.
    void destroy();

    /// The replies to /held, kept until somebody takes them. Waits for the next.
    http::Reply take_held();
    /// Waits until so many requests are over, and returns all records.
    std::vector<http::AccessRecord> wait_log(std::size_t records);

private:
    [[nodiscard]] http::Router routes();

    TempDir dir_;
    http::Loop loop_;
    std::shared_ptr<http::EventStream> events_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<http::Reply> held_;
    std::vector<http::AccessRecord> log_;
    std::unique_ptr<http::Server> server_;
    std::thread thread_;
};

} // namespace vgpu::test
