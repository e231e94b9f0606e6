#include "tests/unit/http/raw_client.hpp"
#include "tests/unit/http/test_server.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace vgpu::test {
namespace {

using namespace http;
using testing::StartsWith;

struct Hostile {
    const char* name;
    std::string bytes;
    int status;
};

class HostileRequest : public testing::TestWithParam<Hostile> {};

TEST_P(HostileRequest, IsRefusedAndHurtsNobodyElse) {
    TestServer server;
    RawClient bystander(server.path());
    RawClient client(server.path());
    client.send(GetParam().bytes);
    client.finish();
    const auto answer = client.read_to_end();
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 " + std::to_string(GetParam().status) + " "));
    EXPECT_EQ(count(answer, "Content-Length: "), 1U) << "nothing behind it was taken as a request";
    bystander.send(get("/hello"));
    EXPECT_THAT(bystander.read_until("hello"), StartsWith("HTTP/1.1 200 "));
}

const std::string smuggled = "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n";

INSTANTIATE_TEST_SUITE_P(
    Table, HostileRequest,
    testing::Values(
        Hostile{"garbage", "\x16\x03\x01\x02 hello\r\n\r\n", 400},
        Hostile{"nothing_but_a_line", "hello\r\n\r\n", 400},
        Hostile{"bare_line_feeds", "GET /hello HTTP/1.1\nHost: x\n\n", 400},
        Hostile{"cut_in_the_line", "GET /hel", 400},
        Hostile{"cut_in_the_header", "GET /hello HTTP/1.1\r\nHost:", 400},
        Hostile{"cut_in_the_body", "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc",
                400},
        Hostile{"version_9", "GET /hello HTTP/9.9\r\nHost: x\r\n\r\n", 400},
        Hostile{"no_host", "GET /hello HTTP/1.1\r\n\r\n", 400},
        Hostile{"two_hosts", "GET /hello HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", 400},
        Hostile{"space_before_colon", "GET /hello HTTP/1.1\r\nHost : x\r\n\r\n", 400},
        Hostile{
            "two_lengths",
            "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 30\r\n\r\n" +
                smuggled,
            400},
        Hostile{"negative_length",
                "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n" + smuggled, 400},
        Hostile{"length_and_chunks",
                "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: "
                "chunked\r\n\r\n0\r\n\r\n" +
                    smuggled,
                400},
        Hostile{"unknown_encoding",
                "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n" + smuggled,
                501},
        Hostile{"encoding_that_hides_chunked",
                "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked, gzip\r\n\r\n" +
                    smuggled,
                501},
        Hostile{"bad_chunk_size",
                "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n" +
                    smuggled,
                400},
        Hostile{"huge_chunk_size",
                "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: "
                "chunked\r\n\r\nffffffffffffffffff\r\n" +
                    smuggled,
                400},
        Hostile{"unknown_expectation",
                "POST /echo HTTP/1.1\r\nHost: x\r\nExpect: more\r\nContent-Length: 3\r\n\r\nabc",
                417},
        Hostile{"nul_in_path", get("/things/a%00b"), 400},
        Hostile{"broken_percent", get("/things/%4"), 400},
        Hostile{"not_utf8", get("/things/%ff"), 400}, Hostile{"dots", get("/things/%2e%2e"), 400},
        Hostile{"twice_in_query", get("/hello?a=1&a=2"), 400},
        Hostile{"no_path", "GET hello HTTP/1.1\r\nHost: x\r\n\r\n", 400},
        Hostile{"connect", "CONNECT host:80 HTTP/1.1\r\nHost: x\r\n\r\n", 400}),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST(HostileBytes, ChangedAtRandomNeverTakeTheServerDown) {
    Limits limits;
    limits.connections = 8;
    TestServer server(limits);
    const std::string whole = "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
                              "Last-Event-ID: run1.3\r\n\r\n5\r\nhello\r\n0\r\n\r\n" +
                              get("/things/a?b=c");
    std::mt19937 random(20260101); // NOLINT(cert-msc51-cpp): the same bytes in every run
    for (int round = 0; round < 300; ++round) {
        std::string bytes = whole;
        for (int change = 0; change < 3; ++change) {
            bytes[random() % bytes.size()] = static_cast<char>(random() % 256);
        }
        RawClient client(server.path());
        client.send(bytes);
        client.finish();
        client.read_to_end();
    }
    RawClient client(server.path());
    client.send(get("/hello"));
    EXPECT_THAT(client.read_until("hello"), StartsWith("HTTP/1.1 200 "));
}

} // namespace
} // namespace vgpu::test
