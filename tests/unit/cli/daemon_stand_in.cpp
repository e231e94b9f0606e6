#include "tests/unit/cli/daemon_stand_in.hpp"

#include "agent/http/listener.hpp"

#include <filesystem>
#include <future>
#include <stdexcept>
#include <utility>

namespace vgpu::test {

using http::Reply;
using http::Request;
using http::Response;

namespace {

/// The path with a query that decides nothing here.
std::string name_of(const Request& request) {
    return request.method + " " + request.path;
}

} // namespace

DaemonStandIn::DaemonStandIn() : events_(std::make_shared<http::EventStream>("run1")) {
    std::filesystem::create_directories(directory_ / "run");
    write_file(config(), "[paths]\nruntime = \"" + (directory_ / "run") + "\"\nstate = \"" +
                             (directory_ / "state") + "\"\n");
    begin();
    thread_ = std::thread([this] { loop_.run(); });
}

DaemonStandIn::~DaemonStandIn() {
    end();
    loop_.stop();
    thread_.join();
}

void DaemonStandIn::answer(const std::string& request, const std::string& json, int status,
                           http::HeaderFields headers) {
    Response response;
    response.status = status;
    response.content_type = json.empty() ? "" : "application/json";
    response.headers = std::move(headers);
    response.body = json;
    const std::lock_guard lock(mutex_);
    answers_[request] = std::move(response);
}

void DaemonStandIn::refuse(const std::string& request, const http::Problem& problem) {
    const std::lock_guard lock(mutex_);
    answers_[request] = http::to_response(problem);
}

void DaemonStandIn::handle(Request request, Reply reply) {
    const std::string name = name_of(request);
    const std::lock_guard lock(mutex_);
    const auto found = answers_.find(name);
    if (name == "GET /v1/events") {
        reply.stream({events_, request.header("Last-Event-ID"), {}});
    } else if (found != answers_.end()) {
        reply(found->second);
    } else {
        reply(http::to_response(
            http::problem_of(Error(ErrorCode::not_found, "nothing at " + request.path))));
    }
    requests_[name].push_back(std::move(request));
    changed_.notify_all();
}

Request DaemonStandIn::wait_for(const std::string& request, std::size_t count) {
    std::unique_lock lock(mutex_);
    const bool came = changed_.wait_for(lock, std::chrono::minutes(1),
                                        [&] { return requests_[request].size() >= count; });
    if (!came) {
        throw std::runtime_error("nobody asked " + request);
    }
    return requests_[request].back();
}

void DaemonStandIn::on_loop(const std::function<void()>& work) {
    std::promise<void> done;
    loop_.post([&work, &done] {
        work();
        done.set_value();
    });
    done.get_future().wait();
}

void DaemonStandIn::end() {
    on_loop([this] { server_.reset(); });
    std::filesystem::remove(socket());
}

void DaemonStandIn::begin() {
    auto listener = http::Listener::create({socket(), 0600, ""});
    if (!listener) {
        throw std::runtime_error(listener.error().text());
    }
    const auto serve = [this, &listener] {
        server_ = std::make_unique<http::Server>(
            loop_, *std::move(listener), http::Limits(),
            [this](Request request, Reply reply) { handle(std::move(request), std::move(reply)); });
    };
    thread_.joinable() ? on_loop(serve) : serve();
}

void DaemonStandIn::begin_anew() {
    on_loop([this] { events_ = std::make_shared<http::EventStream>("run2"); });
    begin();
}

std::string operation_json(const std::string& state, const std::string& result,
                           const std::string& problem) {
    return R"({"id":"op-1","kind":"start","target":"vm1","state":")" + state +
           R"(","started_at":"2026-12-07T09:00:00Z","ended_at":null,"result":)" + result +
           R"(,"problem":)" + problem + "}";
}

std::string instance_json(const std::string& state, const std::string& name) {
    return R"({"uuid":"f0f0f0f0-0000-4000-8000-000000000001","name":")" + name + R"(","state":")" +
           state + R"(","persistent":true,"gpus":[{"name":"vgpu0","profile":"NVIDIA L40S-4Q",)" +
           R"("framework":"vendor-vfio","device_path":"/sys/bus/pci/devices/0000:41:00.4",)" +
           R"("mdev_uuid":null,"gpu":"0000:41:00.0","claim":"configured"}]})";
}

} // namespace vgpu::test
