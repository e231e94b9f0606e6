#include "agent/http/problem.hpp"
#include "tests/unit/cli/daemon_stand_in.hpp"
#include "tests/unit/cli/program_process.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <signal.h>

namespace vgpu {

namespace {

using test::DaemonStandIn;
using test::Ended;
using test::instance_json;
using test::operation_json;
using test::ProgramProcess;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* post = "POST /v1/instances/vm1/start";
constexpr const char* look = "GET /v1/operations/op-1";

/// `start vm1`, whose operation runs until the test says otherwise.
class OperationWait : public testing::Test {
protected:
    OperationWait() {
        daemon.answer(post, operation_json("running"), 202);
        daemon.answer(look, operation_json("running"));
    }
    ProgramProcess start(ProgramProcess::Console console) {
        return {{"start", "vm1"}, daemon.config(), console};
    }

    DaemonStandIn daemon;
};

using Console = ProgramProcess::Console;

} // namespace

TEST_F(OperationWait, CtrlCLeavesTheOperationToTheDaemonAndSaysHowToSeeIt) {
    ProgramProcess program = start(Console::files);
    daemon.wait_for(look);
    program.send_signal(SIGINT);
    const Ended ended = program.wait();
    EXPECT_EQ(ended.code, 130);
    EXPECT_EQ(ended.out, "");
    EXPECT_EQ(ended.err, "virt-vgpu: interrupted; virt-vgpud goes on starting vm1, see `virt-vgpu "
                         "operations op-1`\n");
}

TEST_F(OperationWait, SaysTheSameWhenItIsTerminated) {
    ProgramProcess program = start(Console::files);
    daemon.wait_for(look);
    program.send_signal(SIGTERM);
    const Ended ended = program.wait();
    EXPECT_EQ(ended.code, 143);
    EXPECT_THAT(ended.err, HasSubstr("goes on starting vm1"));
}

TEST_F(OperationWait, ShowsOnATerminalWhatItWaitsForAndTakesThatAwayAgain) {
    ProgramProcess program = start(Console::terminal);
    program.read_until("virt-vgpud is starting vm1 (0 s)");
    daemon.answer(look, operation_json("done", instance_json("running")));
    program.read_until("\r\033[Kvm1 (");
    EXPECT_EQ(program.wait().code, 0);
}

TEST_F(OperationWait, CtrlCAtTheTerminalBeginsALineOfItsOwn) {
    ProgramProcess program = start(Console::terminal);
    program.read_until("starting vm1");
    program.type("\003");
    program.read_until("\nvirt-vgpu: interrupted; ");
    EXPECT_EQ(program.wait().code, 130);
}

TEST_F(OperationWait, SaysNothingOfItWithoutATerminal) {
    ProgramProcess program = start(Console::files);
    daemon.wait_for(look, 2);
    daemon.answer(look, operation_json("done", instance_json("running")));
    EXPECT_EQ(program.wait().err, "");
}

TEST_F(OperationWait, SaysThatNobodyKnowsWhenTheDaemonEndsInTheMiddle) {
    ProgramProcess program = start(Console::files);
    daemon.wait_for(look);
    daemon.end();
    const Ended ended = program.wait();
    EXPECT_EQ(ended.code, 1);
    EXPECT_THAT(ended.err,
                AllOf(HasSubstr("virt-vgpud ended while it was starting vm1"),
                      HasSubstr("not known"), HasSubstr("repeating the command is safe")));
    daemon.begin();
}

TEST_F(OperationWait, SaysThatNobodyKnowsWhenTheDaemonWasRestartedInTheMiddle) {
    ProgramProcess program = start(Console::files);
    daemon.wait_for(look);
    daemon.refuse(look, http::problem_of(Error(ErrorCode::not_found, "there is no operation")));
    const Ended ended = program.wait();
    EXPECT_EQ(ended.code, 1);
    EXPECT_THAT(ended.err, AllOf(HasSubstr("virt-vgpud was restarted while it was starting vm1"),
                                 HasSubstr("repeating the command is safe")));
}

TEST_F(OperationWait, OutlastsADaemonThatIsBusyForAMoment) {
    ProgramProcess program = start(Console::files);
    daemon.wait_for(look);
    daemon.refuse(look, http::problem_of(Error(ErrorCode::unavailable, "too many requests")));
    daemon.wait_for(look, 3);
    daemon.answer(look, operation_json("done", instance_json("running")));
    EXPECT_EQ(program.wait().code, 0);
}

TEST_F(OperationWait, RefusesAStateThatItDoesNotKnow) {
    daemon.answer(look, operation_json("half\\u001b"));
    const Ended ended = start(Console::files).wait();
    EXPECT_EQ(ended.code, 1);
    EXPECT_THAT(ended.err, AllOf(HasSubstr("half?"), Not(HasSubstr("\033"))));
}

TEST_F(OperationWait, SaysWhereToLookWhenAnOperationHasNoId) {
    daemon.answer(post, "{}", 202);
    const Ended ended = start(Console::files).wait();
    EXPECT_EQ(ended.code, 1);
    EXPECT_THAT(ended.err, HasSubstr("virt-vgpu operations"));
}

} // namespace vgpu
