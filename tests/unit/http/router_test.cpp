#include "tests/unit/http/raw_client.hpp"
#include "tests/unit/http/test_server.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

namespace vgpu::test {
namespace {

using namespace http;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string ask(TestServer& server, const std::string& request) {
    RawClient client(server.path());
    client.send(request);
    client.finish();
    return client.read_to_end();
}

TEST(Router, HandsTheDecodedParameterToTheHandler) {
    TestServer server;
    const auto answer = ask(server, get("/things/vm%2F1%20a"));
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
    EXPECT_THAT(answer, testing::EndsWith("\r\n\r\nvm/1 a"));
}

TEST(Router, AnswersAnUnknownPathWithAProblem) {
    TestServer server;
    const auto answer = ask(server, get("/nothing"));
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 404 Not Found\r\n"));
    EXPECT_THAT(answer, HasSubstr("Content-Type: application/problem+json\r\n"));
    EXPECT_THAT(answer, HasSubstr("urn:virt-vgpu:problem:not_found"));
    EXPECT_THAT(ask(server, get("/hello/")), StartsWith("HTTP/1.1 404"));
    EXPECT_THAT(ask(server, get("/things/")), StartsWith("HTTP/1.1 404"));
}

TEST(Router, NamesTheMethodsThatAPathTakes) {
    TestServer server;
    const auto answer = ask(server, "DELETE /hello HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 405 "));
    EXPECT_THAT(answer, HasSubstr("Allow: GET, HEAD\r\n"));
}

TEST(Router, AnswersHeadAsGetWithoutABody) {
    TestServer server;
    const auto answer = ask(server, "HEAD /hello HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
    EXPECT_THAT(answer, HasSubstr("Content-Length: 5\r\n"));
    EXPECT_THAT(answer, testing::EndsWith("\r\n\r\n"));
}

TEST(Router, PrefersAFixedPartToAParameterInAnyOrder) {
    class Kept : public ReplyChannel {
    public:
        void respond(Response response) override { status = response.status; }
        void stream(StreamResponse) override {}
        [[nodiscard]] bool abandoned() const override { return false; }
        int status = 0;
    };
    const auto answers = [](int status) {
        return [status](const Request&, Reply reply) { reply({status, "", {}, ""}); };
    };
    Router router;
    router.add("GET", "/v1/{kind}/{id}", answers(201));
    router.add("GET", "/v1/gpus/{id}", answers(202));
    router.add("GET", "/v1/{kind}/all", answers(204));
    const auto status = [&router](std::vector<std::string> segments) {
        const auto kept = std::make_shared<Kept>();
        Request request;
        request.method = "GET";
        request.segments = std::move(segments);
        router(std::move(request), Reply(kept));
        return kept->status;
    };
    EXPECT_EQ(status({"v1", "gpus", "all"}), 202);
    EXPECT_EQ(status({"v1", "devices", "all"}), 204);
    EXPECT_EQ(status({"v1", "devices", "x"}), 201);
    EXPECT_EQ(status({"v1"}), 404);
}

TEST(Router, LogsWhoAskedForWhat) {
    TestServer server;
    ask(server, get("/hello?x=1"));
    const auto log = server.wait_log(1);
    EXPECT_EQ(log[0].method, "GET");
    EXPECT_EQ(log[0].target, "/hello?x=1");
    EXPECT_EQ(log[0].status, 200);
    EXPECT_EQ(log[0].peer.pid, ::getpid());
    EXPECT_EQ(log[0].peer.uid, ::getuid());
    EXPECT_EQ(log[0].peer.gid, ::getgid());
}

TEST(Reply, DroppedUnusedOrByAnExceptionAnswers500) {
    TestServer server;
    EXPECT_THAT(ask(server, get("/throws")), StartsWith("HTTP/1.1 500 "));
    RawClient client(server.path());
    client.send(get("/held"));
    {
        const Reply dropped = server.take_held();
    }
    EXPECT_THAT(client.read_until("}"), StartsWith("HTTP/1.1 500 "));
}

} // namespace
} // namespace vgpu::test
