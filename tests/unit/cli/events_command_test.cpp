#include "tests/unit/cli/daemon_stand_in.hpp"
#include "tests/unit/cli/program_process.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <signal.h>

namespace vgpu {

namespace {

using nlohmann::json;
using test::DaemonStandIn;
using test::Ended;
using test::ProgramProcess;
using testing::HasSubstr;

http::Event log_event(const std::string& text) {
    return {"log", json({{"level", "info"}, {"text", text}}).dump()};
}

/// `events --follow`, of a stream that is open: an id that nobody knows is answered at once.
class EventsCommand : public testing::Test {
protected:
    EventsCommand() { program.read_until("resync"); }

    DaemonStandIn daemon;
    ProgramProcess program{{"events", "--follow", "--since", "none"}, daemon.config()};
};

} // namespace

TEST_F(EventsCommand, PrintsWhatHappensUntilItIsInterrupted) {
    daemon.events().publish(log_event("one"));
    program.read_until("log        one\n");
    daemon.events().publish({"libvirt", R"({"domain":"u\u001b[2J"})"});
    program.read_until("libvirt    domain u?[2J has changed\n");
    program.send_signal(SIGINT);
    EXPECT_EQ(program.wait().code, -1); // ended by the signal, as a shell expects
}

TEST_F(EventsCommand, GoesOnAfterTheLastEventWhenTheStreamWasCut) {
    daemon.events().publish(log_event("one"));
    program.read_until("one\n");
    const std::string seen = daemon.events().newest_id();
    daemon.end();
    daemon.events().publish(log_event("between"));
    daemon.begin();
    EXPECT_EQ(program.read_until("between\n"), "log        between\n");
    EXPECT_EQ(daemon.wait_for("GET /v1/events", 2).header("Last-Event-ID"), seen);
    program.send_signal(SIGTERM);
    EXPECT_THAT(program.wait().err, HasSubstr("connecting again"));
}

TEST_F(EventsCommand, SaysThatEventsAreLostWhenTheDaemonWasRestarted) {
    daemon.events().publish(log_event("one"));
    program.read_until("one\n");
    daemon.end();
    daemon.begin_anew();
    EXPECT_EQ(program.read_until("lost\n"), "resync     events in between are lost\n");
    daemon.events().publish(log_event("two"));
    EXPECT_EQ(program.read_until("two\n"), "log        two\n");
}

TEST_F(EventsCommand, GivesProgramsAnObjectALineWithItsId) {
    ProgramProcess other({"events", "--follow", "--since", "none", "--json"}, daemon.config());
    const json first = json::parse(other.read_until("\n"));
    EXPECT_EQ(first.at("event"), "resync");
    EXPECT_EQ(first.at("id"), daemon.events().newest_id());
}

} // namespace vgpu
