#include "tests/unit/http/raw_client.hpp"
#include "tests/unit/http/test_server.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>

namespace vgpu::test {
namespace {

using namespace http;
using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::StartsWith;
constexpr milliseconds long_grace{60000};

TEST(Reply, ThatComesAfterTheClientLeftIsDiscarded) {
    TestServer server;
    RawClient client(server.path());
    client.send(get("/held"));
    auto held = server.take_held();
    EXPECT_FALSE(held.abandoned());
    client.close();
    EXPECT_EQ(server.wait_log(1)[0].status, 0);
    EXPECT_TRUE(held.abandoned());
    held({200, "text/plain", {}, "late"});
    RawClient next(server.path());
    next.send(get("/hello"));
    EXPECT_THAT(next.read_until("hello"), StartsWith("HTTP/1.1 200 "));
    const auto counters = server.counters();
    EXPECT_EQ(counters.requests_abandoned, 1U);
    EXPECT_EQ(counters.requests_waiting, 0U);
}

TEST(Reply, StillReachesAClientThatEndedItsOwnSide) {
    TestServer server;
    RawClient client(server.path());
    client.send(get("/held"));
    client.finish();
    auto held = server.take_held();
    held({200, "text/plain", {}, "wanted"});
    EXPECT_THAT(client.read_to_end(), HasSubstr("wanted"));
}

TEST(Reply, MayOutliveTheServer) {
    std::optional<Reply> held;
    {
        TestServer server;
        RawClient client(server.path());
        client.send(get("/held"));
        held.emplace(server.take_held());
        server.destroy();
        EXPECT_EQ(client.read_to_end(), "");
    }
    EXPECT_TRUE(held->abandoned());
    (*held)({200, "text/plain", {}, "late"});
}

TEST(Reply, FromManyThreadsReachesEachItsOwnClient) {
    TestServer server;
    for (int i = 0; i < 50; ++i) {
        RawClient client(server.path());
        client.send(get("/held"));
        std::thread worker([reply = std::make_shared<Reply>(server.take_held()), i] {
            (*reply)({200, "text/plain", {}, "for-" + std::to_string(i) + "-"});
            (*reply)({500, "text/plain", {}, "again"});
        });
        EXPECT_THAT(client.read_until("-" + std::to_string(i) + "-"), StartsWith("HTTP/1.1 200 "));
        worker.join();
    }
}

TEST(Stop, LetsTheRequestInFlightEndAndClosesTheRest) {
    TestServer server;
    RawClient idle(server.path());
    RawClient streaming(server.path());
    streaming.send(get("/events"));
    streaming.read_until(": open");
    RawClient busy(server.path());
    busy.send(get("/held"));
    auto held = server.take_held();
    const auto wait = server.stop(long_grace);
    EXPECT_EQ(idle.read_to_end(), "");
    EXPECT_THAT(streaming.read_to_end(), testing::EndsWith("0\r\n\r\n"));
    EXPECT_FALSE(std::filesystem::exists(server.path()));
    held({200, "text/plain", {}, "done"});
    busy.finish();
    const auto answer = busy.read_to_end();
    EXPECT_THAT(answer, HasSubstr("done"));
    EXPECT_THAT(answer, HasSubstr("Connection: close\r\n"));
    wait();
    EXPECT_EQ(server.counters().connections_open, 0U);
}

TEST(Stop, ClosesAtItsDeadlineWhatDoesNotEnd) {
    TestServer server;
    RawClient busy(server.path());
    busy.send(get("/held"));
    const auto held = server.take_held();
    server.stop(milliseconds(20))();
    EXPECT_EQ(busy.read_to_end(), "");
    EXPECT_TRUE(held.abandoned());
}

TEST(Stop, WithoutConnectionsIsDoneAtOnce) {
    TestServer server;
    server.stop(long_grace)();
    EXPECT_FALSE(std::filesystem::exists(server.path()));
}

} // namespace
} // namespace vgpu::test
