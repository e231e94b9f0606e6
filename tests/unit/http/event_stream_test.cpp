#include "agent/http/event_reader.hpp"
#include "tests/unit/http/raw_client.hpp"
#include "tests/unit/http/test_server.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vgpu::test {
namespace {

using namespace http;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(EventStream, SendsWhatIsPublished) {
    TestServer server;
    RawClient client(server.path());
    client.send(get("/events"));
    EXPECT_THAT(client.read_until(": open"), HasSubstr("Content-Type: text/event-stream\r\n"));
    server.events().publish({"claim", "{\"a\":1}"});
    EXPECT_THAT(client.read_until("{\"a\":1}\n\n"),
                HasSubstr("id: run1.1\nevent: claim\ndata: {\"a\":1}\n\n"));
}

TEST(EventStream, ResumesBehindTheLastSeenEvent) {
    TestServer server;
    for (int i = 1; i <= 3; ++i) {
        server.events().publish({"e", "number " + std::to_string(i)});
    }
    RawClient client(server.path());
    client.send(get("/events", "Last-Event-ID: run1.1\r\n"));
    const auto text = client.read_until("number 3");
    EXPECT_THAT(text, Not(HasSubstr("number 1")));
    EXPECT_THAT(text, HasSubstr("number 2"));
}

TEST(EventStream, TellsAClientThatMissedEventsToListAgain) {
    TestServer server;
    for (int i = 1; i <= 100; ++i) { // the history has 64
        server.events().publish({"e", "x"});
    }
    for (const char* id : {"run1.2", "run0.99", "run1.101", "run1.", "nonsense"}) {
        RawClient client(server.path());
        client.send(get("/events", std::string("Last-Event-ID: ") + id + "\r\n"));
        EXPECT_THAT(client.read_until("data: \n\n"), HasSubstr("id: run1.100\nevent: resync\n"))
            << id;
    }
}

TEST(EventStream, FiltersPerReader) {
    TestServer server;
    RawClient client(server.path());
    client.send(get("/events?only=b"));
    client.read_until(": open");
    server.events().publish({"a", "not this"});
    server.events().publish({"b", "but this"});
    EXPECT_THAT(client.read_until("but this"), Not(HasSubstr("not this")));
}

TEST(EventStream, KeepsASilentConnectionAlive) {
    Limits limits;
    limits.heartbeat = std::chrono::milliseconds(20);
    TestServer server(limits);
    RawClient client(server.path());
    client.send(get("/events"));
    EXPECT_THAT(client.read_until(": alive\n\n"), StartsWith("HTTP/1.1 200 "));
}

TEST(EventStream, DropsAReaderThatLagsAndServesTheOthers) {
    TestServer server;
    RawClient slow(server.path());
    slow.send(get("/events"));
    slow.read_until(": open");
    RawClient quick(server.path());
    quick.send(get("/events"));
    quick.read_until(": open");
    // More than a socket and the whole history hold, each event only after the quick one has it.
    for (int i = 1; i <= 200; ++i) {
        const std::string mark = "event-" + std::to_string(i) + ";";
        server.events().publish({"e", std::string(20000, 'x') + mark});
        ASSERT_THAT(quick.read_until(mark), HasSubstr(mark));
    }
    const auto text = slow.read_to_end();
    EXPECT_THAT(text, Not(HasSubstr("event-200;")));
    EXPECT_EQ(server.counters().streams_dropped, 1U);
    EXPECT_EQ(server.counters().streams_open, 1U);
}

TEST(EventStream, NoticesThatAReaderLeft) {
    TestServer server;
    RawClient client(server.path());
    client.send(get("/events"));
    client.read_until(": open");
    client.close();
    EXPECT_EQ(server.wait_log(1)[0].status, 200);
    EXPECT_EQ(server.counters().streams_open, 0U);
}

TEST(EventStream, GoesWithoutChunksToAnHttp10Client) {
    TestServer server;
    RawClient client(server.path());
    client.send("GET /events HTTP/1.0\r\n\r\n");
    client.read_until(": open");
    server.events().publish({"e", "data"});
    EXPECT_THAT(client.read_until("data: data\n\n"), HasSubstr("\r\n\r\n: open\n\nid: run1.1\n"));
}

TEST(EventFormat, KeepsLineBreaksInDataAndForgesNoField) {
    const Event event{"a\nid: 9", "one\rid: 8\r\ntwo\n"};
    const std::string text = format_event("x.1", event);
    EXPECT_EQ(text, "id: x.1\nevent: aid: 9\ndata: one\ndata: id: 8\ndata: two\ndata: \n\n");
    EventReader reader(1000);
    std::vector<ReceivedEvent> events;
    for (const char c : text) { // however it is cut
        const auto found = reader.feed(std::string(1, c));
        ASSERT_TRUE(found);
        events.insert(events.end(), found->begin(), found->end());
    }
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events[0].data, "one\nid: 8\ntwo\n");
    EXPECT_EQ(events[0].id, "x.1");
}

TEST(EventReader, RefusesAnEventWithoutEnd) {
    EventReader reader(1000);
    const std::string line = "data: " + std::string(100, 'x') + "\n";
    int taken = 0;
    while (taken < 100 && reader.feed(line)) {
        ++taken;
    }
    EXPECT_LT(taken, 11);
}

} // namespace
} // namespace vgpu::test
