#include "agent/http/client.hpp"
#include "agent/http/listener.hpp"
#include "tests/unit/http/test_server.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <grp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>

namespace vgpu::test {
namespace {

using namespace http;
using std::chrono::milliseconds;
using testing::HasSubstr;
constexpr milliseconds patience{60000};

/// A server that sends these bytes to the first client, whatever it asks.
class FakeServer {
public:
    explicit FakeServer(std::string bytes, bool closes = true)
        : listener_(*Listener::create({path(), 0600, ""})),
          thread_([this, bytes = std::move(bytes), closes] { serve(bytes, closes); }) {}
    ~FakeServer() { thread_.join(); }
    FakeServer(const FakeServer&) = delete;
    FakeServer& operator=(const FakeServer&) = delete;
    [[nodiscard]] std::string path() const { return dir_ / "s"; }

private:
    void serve(const std::string& bytes, bool closes) {
        pollfd waiting{listener_.fd(), POLLIN, 0};
        ::poll(&waiting, 1, static_cast<int>(patience.count()));
        const UniqueFd client(::accept(listener_.fd(), nullptr, nullptr));
        std::array<char, 4096> request{};
        (void)::recv(client.get(), request.data(), request.size(), 0);
        (void)::send(client.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (!closes) { // until the client gives up
            while (::recv(client.get(), request.data(), request.size(), 0) > 0) {
            }
        }
    }
    TempDir dir_;
    Listener listener_;
    std::thread thread_;
};

TEST(Client, GetsAnAnswer) {
    TestServer server;
    const Client client(server.path());
    const auto answer = client.request({"GET", "/things/a%20b", {}, ""}, Deadline::in(patience));
    ASSERT_TRUE(answer) << answer.error().text();
    EXPECT_EQ(answer->status, 200);
    EXPECT_EQ(answer->body, "a b");
    const std::string body(300000, 'x');
    EXPECT_EQ(client.request({"POST", "/echo", {}, body}, Deadline::in(patience))->body, body);
    EXPECT_EQ(client.request({"HEAD", "/hello", {}, ""}, Deadline::in(patience))->body, "");
}

TEST(Client, TurnsAProblemIntoAnError) {
    TestServer server;
    const Client client(server.path());
    const auto answer = client.request({"GET", "/nothing", {}, ""}, Deadline::in(patience));
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code(), ErrorCode::not_found);
    EXPECT_THAT(answer.error().text(), HasSubstr("/nothing"));
    // Also when the server refuses before it has read everything.
    const auto large = client.request(
        {"POST", "/echo", {}, std::string(std::size_t{20} << 20U, 'x')}, Deadline::in(patience));
    ASSERT_FALSE(large);
    EXPECT_THAT(large.error().text(), HasSubstr("1048576"));
}

TEST(Client, SaysHowToStartAServerThatIsNotThere) {
    const TempDir dir;
    const auto answer =
        Client(dir / "api.sock").request({"GET", "/", {}, ""}, Deadline::in(patience));
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code(), ErrorCode::unavailable);
    EXPECT_THAT(answer.error().text(), HasSubstr("virt-vgpud is not running: connect "));
    EXPECT_THAT(answer.error().text(), HasSubstr("systemctl start virt-vgpud"));
}

TEST(Client, NamesTheGroupThatMayUseTheSocket) {
    if (::geteuid() != 0) {
        GTEST_SKIP() << "only root can become somebody without the right";
    }
    const TempDir dir;
    std::filesystem::permissions(dir.path(), std::filesystem::perms(0755));
    const auto listener = Listener::create({dir / "s", 0660, "root"});
    ASSERT_TRUE(listener);
    const pid_t child = ::fork();
    if (child == 0) {
        constexpr uid_t nobody = 65534;
        if (::setgroups(0, nullptr) != 0 || ::setgid(nobody) != 0 || ::setuid(nobody) != 0) {
            ::_exit(9);
        }
        const auto answer = Client(dir / "s").request({"GET", "/", {}, ""}, Deadline::in(patience));
        const bool named = !answer && answer.error().code() == ErrorCode::denied &&
                           answer.error().text().find("group 'root'") != std::string::npos;
        ::_exit(named ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

TEST(Client, RefusesToForgeARequest) {
    const Client client("/nonexistent");
    for (const ClientRequest& request :
         {ClientRequest{"GET", "/a b", {}, ""}, ClientRequest{"GET", "/a\r\nX: y", {}, ""},
          ClientRequest{"GET", "/", {{"Prefer", "a\r\nX: y"}}, ""}}) {
        const auto answer = client.request(request, Deadline::in(patience));
        ASSERT_FALSE(answer);
        EXPECT_EQ(answer.error().code(), ErrorCode::invalid);
    }
}

TEST(Client, GivesUpAtItsDeadline) {
    FakeServer server("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", false);
    const auto answer =
        Client(server.path()).request({"GET", "/", {}, ""}, Deadline::in(milliseconds(50)));
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code(), ErrorCode::timeout);
}

TEST(Client, ReadsChunksAndInterimAnswers) {
    FakeServer server("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: "
                      "chunked\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nTrailer: t\r\n\r\nrubbish");
    const auto answer = Client(server.path()).request({"GET", "/", {}, ""}, Deadline::in(patience));
    ASSERT_TRUE(answer) << answer.error().text();
    EXPECT_EQ(answer->body, "abcde");
}

TEST(Client, TakesAMisbehavingServersAnswerAsAnError) {
    const std::string chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (const std::string& bytes :
         {std::string(), std::string("SSH-2.0-OpenSSH\r\n\r\n"), std::string("HTTP/1.1 200 OK\r\n"),
          std::string("HTTP/1.1 xyz OK\r\n\r\n"),
          std::string("HTTP/1.1 200 OK\r\nnonsense\r\n\r\n"),
          std::string("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc"),
          std::string("HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nabc"),
          std::string("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\nabc"),
          std::string("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nabc"),
          chunked + "5\r\nabc", chunked + "zz\r\nabc", chunked + "3\r\nabcdef\r\n",
          chunked + "ffffffffffffffff\r\nabc", chunked + "10000000000000000\r\nabc",
          chunked + "0\r\n", "HTTP/1.1 200 OK\r\nX: " + std::string(100000, 'x')}) {
        FakeServer server(bytes);
        const auto answer =
            Client(server.path()).request({"GET", "/", {}, ""}, Deadline::in(patience));
        ASSERT_FALSE(answer) << bytes.substr(0, 200);
        EXPECT_EQ(answer.error().code(), ErrorCode::io) << bytes.substr(0, 200);
    }
}

TEST(Client, RefusesABodyOverItsLimit) {
    ClientLimits limits;
    limits.body = 100;
    FakeServer server("HTTP/1.1 200 OK\r\n\r\n" + std::string(5000, 'x'));
    const auto answer =
        Client(server.path(), limits).request({"GET", "/", {}, ""}, Deadline::in(patience));
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code(), ErrorCode::io);
}

TEST(Client, FollowsEventsUntilTheCallbackSaysNo) {
    TestServer server;
    server.events().publish({"e", "one"});
    server.events().publish({"e", "two"});
    std::vector<std::string> seen;
    const auto end = Client(server.path())
                         .events({"/events", "run1.0", -1}, Deadline::in(patience), patience,
                                 [&seen](const ReceivedEvent& event) {
                                     seen.push_back(event.id + " " + event.data);
                                     return seen.size() < 2;
                                 });
    ASSERT_TRUE(end) << end.error().text();
    EXPECT_EQ(*end, StreamEnd::cancelled);
    EXPECT_THAT(seen, testing::ElementsAre("run1.1 one", "run1.2 two"));
}

TEST(Client, EndsAStreamOnCancelOrWhenTheServerStops) {
    TestServer server;
    server.events().publish({"e", "one"});
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe(ends.data()), 0);
    const UniqueFd read_end(ends[0]);
    const UniqueFd write_end(ends[1]);
    const Client client(server.path());
    const auto stopped =
        client.events({"/events", "run1.0", read_end.get()}, Deadline::in(patience), patience,
                      [&server](const ReceivedEvent&) {
                          server.stop(patience);
                          return true;
                      });
    ASSERT_TRUE(stopped) << stopped.error().text();
    EXPECT_EQ(*stopped, StreamEnd::closed);
    TestServer other;
    ASSERT_EQ(::write(write_end.get(), "x", 1), 1);
    const auto cancelled = Client(other.path())
                               .events({"/events", "", read_end.get()}, Deadline::in(patience),
                                       patience, [](const ReceivedEvent&) { return true; });
    ASSERT_TRUE(cancelled) << cancelled.error().text();
    EXPECT_EQ(*cancelled, StreamEnd::cancelled);
}

TEST(Client, TellsASilentStreamAndARefusedOne) {
    FakeServer silent("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n", false);
    const auto each = [](const ReceivedEvent&) { return true; };
    const auto quiet =
        Client(silent.path())
            .events({"/events", "", -1}, Deadline::in(patience), milliseconds(50), each);
    ASSERT_FALSE(quiet);
    EXPECT_EQ(quiet.error().code(), ErrorCode::timeout);
    TestServer server;
    const Client client(server.path());
    const auto missing =
        client.events({"/nothing", "", -1}, Deadline::in(patience), patience, each);
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code(), ErrorCode::not_found);
    const auto other = client.events({"/hello", "", -1}, Deadline::in(patience), patience, each);
    ASSERT_FALSE(other);
    EXPECT_EQ(other.error().code(), ErrorCode::io);
}

} // namespace
} // namespace vgpu::test
