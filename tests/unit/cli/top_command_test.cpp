#include "tests/unit/cli/daemon_stand_in.hpp"
#include "tests/unit/cli/program_process.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <signal.h>

#include <memory>

namespace vgpu {

namespace {

using nlohmann::json;
using test::DaemonStandIn;
using test::Ended;
using test::ProgramProcess;
using testing::HasSubstr;
using testing::Not;

constexpr const char* restored = "\033[?7h\033[?25h\033[?1049l";

json device(const std::string& address, const std::string& domain) {
    json made{{"device", address}, {"gpu", "0000:41:00.0"}, {"framework", "vendor-vfio"},
              {"type_id", 0},      {"managed", true},       {"claim", nullptr}};
    if (!domain.empty()) {
        made["claim"] = {{"state", "configured"}, {"domain", {{"name", domain}}}};
    }
    return made;
}

/// A host with 30 devices, more than a small terminal has rows for.
class TopCommand : public testing::Test {
protected:
    TopCommand() {
        daemon.answer("GET /v1/host", R"({"hostname":"node1","libvirt":{"up":true}})");
        daemon.answer("GET /v1/gpus", R"([{"gpu":"0000:41:00.0","name":"NVIDIA L40S"}])");
        daemon.answer("GET /v1/resources", R"({"gpus":[]})");
        use_device_of("vm1");
    }
    void use_device_of(const std::string& domain) {
        json devices = json::array({device("0000:41:00.4", domain)});
        for (int i = 1; i < 30; ++i) {
            devices.push_back(device("0000:41:01." + std::to_string(i), ""));
        }
        daemon.answer("GET /v1/devices", devices.dump());
    }
    /// One that shows its first picture, and follows events.
    std::unique_ptr<ProgramProcess> watch() {
        auto program = std::make_unique<ProgramProcess>(
            std::vector<std::string>{"top"}, daemon.config(), ProgramProcess::Console::terminal);
        program->read_until("vm1");
        daemon.wait_for("GET /v1/events");
        return program;
    }
    /// It ended and left the terminal as it had found it.
    static void expect_clean_end(ProgramProcess& program, int code) {
        program.read_until(restored);
        const Ended ended = program.wait();
        EXPECT_EQ(ended.code, code);
        const termios after = program.terminal_settings();
        EXPECT_EQ(after.c_lflag, program.initial_settings().c_lflag);
        EXPECT_EQ(after.c_iflag, program.initial_settings().c_iflag);
        EXPECT_THAT(ended.out, Not(HasSubstr("\033")));
    }

    DaemonStandIn daemon;
};

} // namespace

TEST_F(TopCommand, PrintsOnceWithoutATerminal) {
    const Ended ended = test::run_program_process({"top"}, daemon.config());
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_THAT(ended.out, HasSubstr("0000:41:01.29"));
    EXPECT_THAT(ended.out, Not(HasSubstr("\033")));
}

TEST_F(TopCommand, PrintsOnceOnATerminalIfAskedTo) {
    ProgramProcess program({"top", "--once"}, daemon.config(), ProgramProcess::Console::terminal);
    const Ended ended = program.wait();
    EXPECT_EQ(ended.code, 0);
    EXPECT_THAT(ended.out, HasSubstr("0000:41:01.29"));
    EXPECT_THAT(ended.out, Not(HasSubstr("\033[?1049h")));
}

TEST_F(TopCommand, GivesProgramsTheAnswersThemselves) {
    const Ended ended = test::run_program_process({"top", "--json"}, daemon.config());
    EXPECT_EQ(json::parse(ended.out).at("devices").size(), 30U);
}

TEST_F(TopCommand, DrawsAnewWhenSomethingHappens) {
    const auto program = watch();
    use_device_of("vm2");
    daemon.events().publish({"operation", "{}"});
    program->read_until("vm2");
    program->type("q");
    expect_clean_end(*program, 0);
}

TEST_F(TopCommand, CtrlCLeavesTheTerminalAsItWas) {
    const auto program = watch();
    program->type("\003");
    expect_clean_end(*program, 0);
}

TEST_F(TopCommand, ATerminationLeavesTheTerminalAsItWas) {
    const auto program = watch();
    program->send_signal(SIGTERM);
    expect_clean_end(*program, 143);
}

TEST_F(TopCommand, KeepsToTheRowsOfATerminalThatChanges) {
    const auto program = watch();
    program->read_until("and 14 more");
    program->resize(12, 80);
    program->read_until("and 26 more");
    program->resize(50, 80);
    program->read_until("0000:41:01.29");
    program->type("q");
    expect_clean_end(*program, 0);
}

TEST_F(TopCommand, ShowsTheLastItKnewWhileTheDaemonIsAway) {
    const auto program = watch();
    daemon.end();
    program->read_until("virt-vgpud is not running");
    program->read_until("vm1");
    use_device_of("vm3");
    daemon.begin_anew();
    program->read_until("vm3");
    program->type("q");
    expect_clean_end(*program, 0);
}

} // namespace vgpu
