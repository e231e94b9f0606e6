#include "tests/unit/http/raw_client.hpp"
#include "tests/unit/http/test_server.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace vgpu::test {
namespace {

using namespace http;
using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr milliseconds never{3600000};
const std::string chunked =
    "POST /fields HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";

/// Sends `part` again and again, each only when the server has read the one before: no flood in one
/// read, but a stream that goes on. How often it was taken.
int send_piecemeal(TestServer& server, RawClient& client, const std::string& part, int most) {
    int sent = 0;
    while (sent < most && client.send(part)) {
        server.wait_until_read(client);
        ++sent;
    }
    return sent;
}

TEST(Flood, AHeaderSentLineByLineIs431) {
    Limits limits;
    limits.fields = 100000;
    limits.linger = milliseconds(1);
    TestServer server(limits);
    RawClient client(server.path());
    client.send("GET /hello HTTP/1.1\r\nHost: x\r\n");
    const std::string line = "X-Field: " + std::string(100, 'x') + "\r\n";
    constexpr int far_too_many = 2000;
    EXPECT_LT(send_piecemeal(server, client, line, far_too_many), far_too_many);
    EXPECT_THAT(client.read_to_end(), StartsWith("HTTP/1.1 431 "));
}

TEST(Flood, OfHeaderFieldsIs431BeforeTheHeaderIsComplete) {
    TestServer server;
    RawClient client(server.path());
    std::string fields;
    for (int i = 0; i < 200; ++i) { // each costs the server far more than its bytes
        fields += "a:\r\n";
    }
    client.send("GET /hello HTTP/1.1\r\nHost: x\r\n" + fields);
    EXPECT_THAT(client.read_until("}"), StartsWith("HTTP/1.1 431 "));
}

TEST(Flood, AsManyFieldsAsAllowedAreServed) {
    TestServer server;
    RawClient client(server.path());
    std::string fields;
    for (std::size_t i = 1; i < Limits().fields; ++i) {
        fields += "a:\r\n";
    }
    client.send(get("/hello", fields));
    EXPECT_THAT(client.read_until("hello"), StartsWith("HTTP/1.1 200 "));
}

TEST(Flood, OfChunkExtensionsIs413) {
    Limits limits;
    limits.framing = 10000;
    TestServer server(limits);
    RawClient client(server.path());
    client.send(chunked);
    const std::string chunk = "1;" + std::string(1000, 'x') + "\r\na\r\n";
    for (int i = 0; i < 20 && client.send(chunk); ++i) {
    }
    EXPECT_THAT(client.read_until("}"), StartsWith("HTTP/1.1 413 "));
}

TEST(Flood, AChunkExtensionOrTrailerWithoutEndIs413) {
    TestServer server;
    for (const char* begin : {"1;", "0\r\nX-Trailer: "}) {
        RawClient client(server.path());
        client.send(chunked + begin);
        const std::string more(4096, 'x');
        for (int i = 0; i < 20 && client.send(more); ++i) {
        }
        EXPECT_THAT(client.read_until("}"), StartsWith("HTTP/1.1 413 ")) << begin;
    }
}

TEST(Flood, SmallChunksWithinTheLimitAreServed) {
    TestServer server;
    RawClient client(server.path());
    std::string body;
    for (int i = 0; i < 1000; ++i) {
        body += "1\r\na\r\n";
    }
    client.send("POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + body +
                "0\r\n\r\n");
    EXPECT_THAT(client.read_until(std::string(1000, 'a')), HasSubstr("Content-Length: 1000\r\n"));
    EXPECT_EQ(server.counters().body_bytes, 0U);
}

TEST(Flood, TrailersAreNotTakenForHeaderFields) {
    TestServer server;
    RawClient client(server.path());
    client.send(chunked + "1\r\na\r\n0\r\nLast-Event-ID: forged\r\nHost: y\r\n\r\n");
    const auto answer = client.read_until(";Transfer");
    EXPECT_THAT(answer, HasSubstr("Host=x;Transfer-Encoding=chunked;"));
    EXPECT_THAT(answer, Not(HasSubstr("forged")));
}

TEST(Flood, RequestsOfClientsThatLeftCountUntilTheHandlerIsDone) {
    Limits limits;
    limits.waiting = 2;
    TestServer server(limits);
    for (std::size_t i = 1; i <= 2; ++i) {
        RawClient client(server.path());
        client.send(get("/held"));
        client.close();
        server.wait_log(i);
    }
    EXPECT_EQ(server.counters().requests_waiting, 2U);
    RawClient third(server.path());
    third.send(get("/hello"));
    EXPECT_THAT(third.read_until("}"), StartsWith("HTTP/1.1 503 "));
    { const auto dropped = server.take_held(); }
    server.wait_until([](const Counters& now) { return now.requests_waiting == 1; });
    third.send(get("/hello"));
    EXPECT_THAT(third.read_until("hello"), HasSubstr("HTTP/1.1 200 "));
}

TEST(Flood, BodiesOfClientsThatLeftCountUntilTheHandlerIsDone) {
    Limits limits;
    limits.body = 1000;
    limits.bodies = 1500;
    TestServer server(limits);
    const std::string post =
        "POST /held HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n" + std::string(1000, 'a');
    {
        RawClient client(server.path());
        client.send(post);
    }
    server.wait_log(1);
    EXPECT_EQ(server.counters().body_bytes, 1000U);
    RawClient second(server.path());
    second.send(post);
    EXPECT_THAT(second.read_until("}"), StartsWith("HTTP/1.1 503 "));
    { const auto dropped = server.take_held(); }
    server.wait_until([](const Counters& now) { return now.body_bytes == 0; });
    RawClient third(server.path());
    third.send(post);
    server.take_held()({200, "text/plain", {}, "served"});
    EXPECT_THAT(third.read_until("served"), StartsWith("HTTP/1.1 200 "));
}

TEST(Flood, AnswersThatNobodyReadsAreBoundedAndSmallOnesStillGo) {
    constexpr std::size_t large = 700000; // more than a socket holds
    Limits limits;
    limits.answers = 1000000;
    limits.write = never;
    TestServer server(limits);
    const std::string post =
        "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(large) + "\r\n\r\n" +
        std::string(large, 'a');
    RawClient stuck(server.path());
    stuck.send(post);
    server.wait_until([](const Counters& now) { return now.answer_bytes == large; });
    RawClient second(server.path());
    second.send(post);
    EXPECT_THAT(second.read_until("}"), HasSubstr("too_many_answers"));
    second.send(get("/hello"));
    EXPECT_THAT(second.read_until("hello"), HasSubstr("HTTP/1.1 200 "));
    stuck.close();
    server.wait_until([](const Counters& now) { return now.answer_bytes == 0; });
    second.send(post);
    EXPECT_THAT(second.read_until("aaaa"), HasSubstr("Content-Length: 700000\r\n"));
}

TEST(Flood, OfSlowRequestsKeepsNobodyFromBeingServed) {
    constexpr std::size_t slow_ones = 300;
    Limits limits;
    limits.read = never;
    limits.connections = slow_ones + 1;
    TestServer server(limits);
    std::vector<std::unique_ptr<RawClient>> slow;
    for (std::size_t i = 0; i < slow_ones; ++i) {
        slow.push_back(std::make_unique<RawClient>(server.path()));
        slow.back()->send(i % 2 == 0 ? "GET /hello HTTP/1.1\r\nHo" : chunked + "fff\r\nab");
    }
    RawClient served(server.path());
    for (int i = 0; i < 3; ++i) {
        served.send(get("/things/" + std::to_string(i) + "-end"));
        EXPECT_THAT(served.read_until(std::to_string(i) + "-end"), HasSubstr("HTTP/1.1 200 "));
        for (const auto& each : slow) {
            each->send("s");
        }
    }
    RawClient one_too_many(server.path());
    EXPECT_THAT(one_too_many.read_to_end(), StartsWith("HTTP/1.1 503 "));
    slow.pop_back();
    server.wait_until([](const Counters& now) { return now.connections_open == slow_ones; });
    RawClient next(server.path());
    next.send(get("/hello"));
    EXPECT_THAT(next.read_until("hello"), StartsWith("HTTP/1.1 200 "));
}

TEST(Flood, OfSlowRequestsIsAnsweredWith408) {
    Limits limits;
    limits.read = milliseconds(30);
    limits.linger = milliseconds(1);
    TestServer server(limits);
    std::vector<std::unique_ptr<RawClient>> slow;
    for (int i = 0; i < 100; ++i) {
        slow.push_back(std::make_unique<RawClient>(server.path()));
        slow.back()->send(i % 2 == 0 ? "GET /hello HTTP/1.1\r\nHo" : chunked + "fff\r\nab");
    }
    for (const auto& each : slow) {
        each->send("s"); // that bytes go on coming does not help
        EXPECT_THAT(each->read_to_end(), StartsWith("HTTP/1.1 408 "));
    }
}

} // namespace
} // namespace vgpu::test
