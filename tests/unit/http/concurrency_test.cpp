#include "tests/unit/http/raw_client.hpp"
#include "tests/unit/http/test_server.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/resource.h>
#include <sys/socket.h>

#include <memory>
#include <vector>

namespace vgpu::test {
namespace {

using namespace http;
using testing::HasSubstr;
using testing::StartsWith;

TEST(Concurrency, AThousandConnectionsAreAllServed) {
    rlimit files{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &files), 0);
    constexpr std::size_t clients = 1000;
    if (files.rlim_max < 2 * clients + 100) {
        GTEST_SKIP() << "only " << files.rlim_max << " file descriptors are allowed";
    }
    files.rlim_cur = 2 * clients + 100;
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &files), 0);
    TestServer server;
    std::vector<std::unique_ptr<RawClient>> all;
    for (std::size_t i = 0; i < clients; ++i) {
        all.push_back(std::make_unique<RawClient>(server.path()));
    }
    for (int round = 0; round < 2; ++round) {
        for (std::size_t i = 0; i < clients; ++i) {
            all[i]->send(
                get("/things/" + std::to_string(round) + "-" + std::to_string(i) + "-end"));
        }
        for (std::size_t i = 0; i < clients; ++i) {
            const auto own = std::to_string(round) + "-" + std::to_string(i) + "-end";
            ASSERT_THAT(all[i]->read_until(own), HasSubstr("\r\n\r\n" + own));
        }
    }
    EXPECT_EQ(server.counters().connections_open, clients);
}

TEST(Concurrency, PipelinedRequestsAreServedInOrderOneAtATime) {
    TestServer server;
    RawClient client(server.path());
    client.send(get("/held") + get("/things/second") +
                get("/things/third", "Connection: close\r\n"));
    auto held = server.take_held();
    EXPECT_EQ(server.counters().requests_waiting, 1U);
    EXPECT_EQ(server.wait_log(0).size(), 0U);
    held({200, "text/plain", {}, "first"});
    const auto answers = client.read_to_end();
    EXPECT_EQ(count(answers, "HTTP/1.1 200 OK"), 3U);
    EXPECT_LT(answers.find("first"), answers.find("second"));
    EXPECT_LT(answers.find("second"), answers.find("third"));
}

TEST(Concurrency, AFloodOfPipelinedRequestsIsNotReadAhead) {
    TestServer server;
    RawClient client(server.path());
    client.send(get("/held"));
    auto held = server.take_held();
    // The kernel's buffer takes some; the server none: the rest does not fit.
    const std::string flood = get("/hello");
    std::size_t sent = 0;
    while (::send(client.fd(), flood.data(), flood.size(), MSG_DONTWAIT | MSG_NOSIGNAL) ==
           static_cast<ssize_t>(flood.size())) {
        ++sent;
        ASSERT_LT(sent, 1000000U);
    }
    held({200, "text/plain", {}, "first"});
    client.finish();
    EXPECT_EQ(count(client.read_to_end(), "\r\n\r\nhello"), sent);
}

TEST(Concurrency, AnHttp10ClientIsClosedUnlessItAsksOtherwise) {
    TestServer server;
    RawClient client(server.path());
    client.send("GET /hello HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    EXPECT_THAT(client.read_until("hello"), HasSubstr("Connection: keep-alive\r\n"));
    client.send("GET /hello HTTP/1.0\r\n\r\n");
    EXPECT_EQ(count(client.read_to_end(), "HTTP/1.1 200 OK"), 2U);
}

} // namespace
} // namespace vgpu::test
