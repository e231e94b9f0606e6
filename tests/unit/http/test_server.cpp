#include "tests/unit/http/test_server.hpp"

#include <future>
#include <stdexcept>
#include <utility>

namespace vgpu::test {

using namespace http;

namespace {

Response text(std::string body) {
    Response response;
    response.content_type = "text/plain";
    response.body = std::move(body);
    return response;
}

} // namespace

TestServer::TestServer(Limits limits)
    : events_(std::make_shared<EventStream>("run1", EventStream::Capacity{64, 1U << 20U})) {
    auto listener = Listener::create({path(), 0660, ""});
    if (!listener) {
        throw std::runtime_error(listener.error().text());
    }
    server_ = std::make_unique<Server>(loop_, *std::move(listener), limits, routes(),
                                       [this](const AccessRecord& record) {
                                           const std::lock_guard lock(mutex_);
                                           log_.push_back(record);
                                           changed_.notify_all();
                                       });
    thread_ = std::thread([this] { loop_.run(); });
}

Router TestServer::routes() {
    Router router;
    router.add("GET", "/hello", [](const Request&, Reply reply) { reply(text("hello")); });
    router.add("POST", "/echo", [](Request request, Reply reply) { reply(text(request.body)); });
    router.add("GET", "/things/{id}",
               [](const Request& request, Reply reply) { reply(text(request.param("id"))); });
    router.add("GET", "/throws",
               [](const Request&, const Reply&) { throw std::runtime_error("handler"); });
    const auto hold = [this](const Request&, Reply reply) {
        const std::lock_guard lock(mutex_);
        held_.push_back(std::move(reply));
        changed_.notify_all();
    };
    router.add("GET", "/held", hold);
    router.add("POST", "/held", hold);
    router.add("POST", "/fields", [](const Request& request, Reply reply) {
        std::string all;
        for (const auto& [name, value] : request.headers) {
            all.append(name).append("=").append(value).append(";");
        }
        reply(text(all));
    });
    router.add("GET", "/events", [this](const Request& request, Reply reply) {
        EventFilter filter;
        if (const auto only = request.query.find("only"); only != request.query.end()) {
            filter = [name = only->second](const Event& event) { return event.name == name; };
        }
        reply.stream({events_, request.header("last-event-id"), std::move(filter)});
    });
    return router;
}

TestServer::~TestServer() {
    destroy();
    loop_.stop();
    thread_.join();
}

void TestServer::on_loop(const std::function<void()>& work) {
    std::promise<void> done;
    loop_.post([&work, &done] {
        work();
        done.set_value();
    });
    done.get_future().wait();
}

void TestServer::wait_until(const std::function<bool(const Counters&)>& condition) {
    while (!condition(counters())) {
    }
}

void TestServer::wait_until_read(const RawClient& client) {
    while (client.unread() > 0) {
        on_loop([] {});
    }
}

Counters TestServer::counters() {
    Counters copy;
    on_loop([this, &copy] { copy = server_->counters(); });
    return copy;
}

std::function<void()> TestServer::stop(std::chrono::milliseconds grace) {
    auto done = std::make_shared<std::promise<void>>();
    on_loop([this, grace, done] { server_->stop(grace, [done] { done->set_value(); }); });
    return [done] { done->get_future().wait(); };
}

void TestServer::destroy() {
    on_loop([this] { server_.reset(); });
}

Reply TestServer::take_held() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !held_.empty(); });
    Reply reply = std::move(held_.front());
    held_.erase(held_.begin());
    return reply;
}

std::vector<AccessRecord> TestServer::wait_log(std::size_t records) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this, records] { return log_.size() >= records; });
    return log_;
}

} // namespace vgpu::test
