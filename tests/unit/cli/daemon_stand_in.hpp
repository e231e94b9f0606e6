#pragma once

#include "agent/http/problem.hpp"
#include "agent/http/server.hpp"
#include "tests/support/temp_dir.hpp"

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace vgpu::test {

/// A server where virt-vgpud's would be, with answers made up by the test.
class DaemonStandIn {
public:
    DaemonStandIn();
    ~DaemonStandIn();
    DaemonStandIn(const DaemonStandIn&) = delete;
    DaemonStandIn& operator=(const DaemonStandIn&) = delete;

    /// A configuration whose socket is this server's.
    [[nodiscard]] std::string config() const { return directory_ / "virt-vgpu.toml"; }
    [[nodiscard]] std::string socket() const { return directory_ / "run/api.sock"; }

    /// What is answered from now on to "METHOD /path"; everything else is a 404. GET /v1/events
    /// streams events().
    void answer(const std::string& request, const std::string& json, int status = 200,
                http::HeaderFields headers = {});
    void refuse(const std::string& request, const http::Problem& problem);
    http::EventStream& events() { return *events_; }

    /// Waits until there were so many of "METHOD /path", and returns the last of them.
    http::Request wait_for(const std::string& request, std::size_t count = 1);

    /// As if the daemon ended: every connection is closed.
    void end();
    void begin();
    /// begin() as another process, which knows none of the events before.
    void begin_anew();

private:
    void handle(http::Request request, http::Reply reply);
    void on_loop(const std::function<void()>& work);

    TempDir directory_;
    http::Loop loop_;
    std::shared_ptr<http::EventStream> events_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::map<std::string, http::Response> answers_;
    std::map<std::string, std::vector<http::Request>> requests_;
    std::unique_ptr<http::Server> server_;
    std::thread thread_;
};

/// The 202 of an operation "op-1", and a 200 for it in that state.
std::string operation_json(const std::string& state, const std::string& result = "null",
                           const std::string& problem = "null");

/// An instance "vm1" in that state, with one vGPU.
std::string instance_json(const std::string& state, const std::string& name = "vm1");

} // namespace vgpu::test
