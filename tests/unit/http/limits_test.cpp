#include "tests/unit/http/raw_client.hpp"
#include "tests/unit/http/test_server.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/resource.h>
#include <unistd.h>

#include <memory>

namespace vgpu::test {
namespace {

using namespace http;
using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::StartsWith;

std::string post(std::size_t length) {
    return "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(length) +
           "\r\n\r\n";
}

TEST(Limits, ALongFirstLineIs414) {
    TestServer server;
    RawClient client(server.path());
    client.send("GET /" + std::string(20000, 'a'));
    EXPECT_THAT(client.read_to_end(), StartsWith("HTTP/1.1 414 "));
    RawClient complete(server.path());
    complete.send(get("/" + std::string(9000, 'a')));
    EXPECT_THAT(complete.read_to_end(), StartsWith("HTTP/1.1 414 "));
}

TEST(Limits, AHeaderWithoutEndIs431) {
    TestServer server;
    RawClient client(server.path());
    client.send("GET /hello HTTP/1.1\r\nHost: x\r\n");
    for (int i = 0; i < 4000 && client.send("X-Field: value\r\n"); ++i) {
    }
    EXPECT_THAT(client.read_to_end(), StartsWith("HTTP/1.1 431 "));
    EXPECT_EQ(server.counters().requests_refused, 1U);
}

TEST(Limits, ALargeBodyIs413AlsoToAClientThatSendsItAllFirst) {
    TestServer server;
    RawClient client(server.path());
    const std::string body(std::size_t{2} << 20U, 'a');
    EXPECT_TRUE(client.send(post(body.size()) + body));
    EXPECT_THAT(client.read_until("\r\n\r\n"), StartsWith("HTTP/1.1 413 "));
}

TEST(Limits, ALargeChunkedBodyIs413) {
    TestServer server;
    RawClient client(server.path());
    client.send("POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
    const std::string chunk = "10000\r\n" + std::string(0x10000, 'a') + "\r\n";
    for (int i = 0; i < 17 && client.send(chunk); ++i) {
    }
    EXPECT_THAT(client.read_until("\r\n\r\n"), StartsWith("HTTP/1.1 413 "));
}

TEST(Limits, ABodyOfTheLargestSizeIsServed) {
    TestServer server;
    RawClient client(server.path());
    const std::string body(std::size_t{1} << 20U, 'a');
    client.send(post(body.size()) + body);
    client.finish();
    const auto answer = client.read_to_end();
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 "));
    EXPECT_TRUE(answer.ends_with(body));
    EXPECT_EQ(server.counters().body_bytes, 0U);
}

TEST(Limits, BodiesOfAllTogetherAreBounded) {
    Limits limits;
    limits.body = 1000;
    limits.bodies = 1500;
    TestServer server(limits);
    RawClient first(server.path());
    first.send("POST /echo HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
               "Content-Length: 1000\r\n\r\n");
    first.read_until("HTTP/1.1 100 Continue\r\n\r\n");
    RawClient second(server.path());
    second.send(post(1000));
    EXPECT_THAT(second.read_to_end(), StartsWith("HTTP/1.1 503 "));
    first.send(std::string(1000, 'a'));
    EXPECT_THAT(first.read_until("aaaa"), HasSubstr("HTTP/1.1 200 "));
}

TEST(Limits, ASlowRequestIs408AndClosed) {
    Limits limits;
    limits.read = milliseconds(50);
    limits.linger = milliseconds(50);
    TestServer server(limits);
    RawClient in_header(server.path());
    in_header.send("GET /hello HT");
    RawClient in_body(server.path());
    in_body.send(post(10) + "abc");
    EXPECT_THAT(in_header.read_to_end(), StartsWith("HTTP/1.1 408 "));
    EXPECT_THAT(in_body.read_to_end(), StartsWith("HTTP/1.1 408 "));
    EXPECT_EQ(server.counters().timeouts, 2U);
}

TEST(Limits, AnIdleConnectionIsClosed) {
    Limits limits;
    limits.idle = milliseconds(50);
    TestServer server(limits);
    RawClient silent(server.path());
    EXPECT_EQ(silent.read_to_end(), "");
    std::unique_ptr<RawClient> served;
    server.on_loop([&] { // its request is there before its connection can be found idle
        served = std::make_unique<RawClient>(server.path());
        served->send(get("/hello"));
    });
    EXPECT_EQ(count(served->read_to_end(), "HTTP/1.1 200 "), 1U);
}

TEST(Limits, AClientThatDoesNotReadItsAnswerIsDropped) {
    Limits limits;
    limits.body = std::size_t{8} << 20U;
    limits.write = milliseconds(50);
    TestServer server(limits);
    RawClient client(server.path());
    const std::string body(limits.body, 'a'); // more than a socket holds
    client.send(post(body.size()) + body);
    EXPECT_EQ(server.wait_log(1)[0].status, 0);
    EXPECT_LT(client.read_to_end().size(), body.size());
}

TEST(Limits, OneConnectionTooManyIsToldSo) {
    Limits limits;
    limits.connections = 2;
    TestServer server(limits);
    RawClient first(server.path());
    RawClient second(server.path());
    RawClient third(server.path());
    EXPECT_THAT(third.read_to_end(), StartsWith("HTTP/1.1 503 "));
    first.send(get("/hello"));
    EXPECT_THAT(first.read_until("hello"), StartsWith("HTTP/1.1 200 "));
    EXPECT_EQ(server.counters().connections_refused, 1U);
}

TEST(Limits, WithoutDescriptorsLeftItWaitsAndServesLater) {
    TestServer server;
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    std::unique_ptr<RawClient> client;
    server.on_loop([&] { // which so cannot accept meanwhile
        client = std::make_unique<RawClient>(server.path());
        const UniqueFd next_free(::dup(client->fd()));
        rlimit none = before;
        none.rlim_cur = static_cast<rlim_t>(next_free.get());
        EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
    });
    while (server.counters().accept_errors == 0) {
    }
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    client->send(get("/hello"));
    EXPECT_THAT(client->read_until("hello"), StartsWith("HTTP/1.1 200 "));
}

TEST(Limits, OneRequestTooManyForTheHandlersIs503AndTheConnectionGoesOn) {
    Limits limits;
    limits.waiting = 1;
    TestServer server(limits);
    RawClient first(server.path());
    first.send(get("/held"));
    auto held = server.take_held();
    RawClient second(server.path());
    second.send(get("/hello"));
    EXPECT_THAT(second.read_until("}"), StartsWith("HTTP/1.1 503 "));
    EXPECT_THAT(second.read_until("}"), HasSubstr("Retry-After: 1\r\n"));
    held({200, "text/plain", {}, "done"});
    first.read_until("done");
    second.send(get("/hello"));
    EXPECT_THAT(second.read_until("hello"), HasSubstr("HTTP/1.1 200 "));
}

TEST(Limits, OneEventStreamTooManyIs503) {
    Limits limits;
    limits.streams = 1;
    TestServer server(limits);
    RawClient first(server.path());
    first.send(get("/events"));
    first.read_until(": open");
    RawClient second(server.path());
    second.send(get("/events"));
    EXPECT_THAT(second.read_until("}"), StartsWith("HTTP/1.1 503 "));
    EXPECT_EQ(server.counters().requests_waiting, 0U);
}

} // namespace
} // namespace vgpu::test
