#include "agent/http/problem.hpp"
#include "tests/unit/cli/daemon_stand_in.hpp"
#include "tests/unit/cli/program_process.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace vgpu {

namespace {

using nlohmann::json;
using test::DaemonStandIn;
using test::Ended;
using test::instance_json;
using test::operation_json;
using test::run_program_process;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class DaemonCommands : public testing::Test {
protected:
    Ended run(const std::vector<std::string>& arguments, const std::string& input = {}) {
        return run_program_process(arguments, daemon.config(), input);
    }
    /// "METHOD /path" is accepted, and done at once with that result.
    void accept(const std::string& request, const std::string& result) {
        daemon.answer(request, operation_json("running"), 202);
        daemon.answer("GET /v1/operations/op-1", operation_json("done", result));
    }
    json body_of(const std::string& request) { return json::parse(daemon.wait_for(request).body); }

    DaemonStandIn daemon;
};

} // namespace

TEST_F(DaemonCommands, StartWaitsForTheOperationAndPrintsTheDomain) {
    accept("POST /v1/instances/vm1/start", instance_json("running"));
    const Ended ended = run({"start", "vm1"});
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_EQ(ended.err, "");
    EXPECT_THAT(ended.out, AllOf(HasSubstr("vm1"), HasSubstr("running"), HasSubstr("0000:41:00.4"),
                                 HasSubstr("configured")));
    EXPECT_EQ(daemon.wait_for("POST /v1/instances/vm1/start").header("Prefer"), "respond-async");
}

TEST_F(DaemonCommands, PrintTheDomainAsJsonForPrograms) {
    accept("POST /v1/instances/vm1/start", instance_json("running"));
    const Ended ended = run({"start", "vm1", "--json"});
    EXPECT_EQ(json::parse(ended.out), json::parse(instance_json("running")));
}

TEST_F(DaemonCommands, TakeAnAnswerThatDidNotHaveToBeWaitedFor) {
    daemon.answer("POST /v1/instances/vm1/reboot", instance_json("running"));
    const Ended ended = run({"reboot", "vm1"});
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_THAT(ended.out, HasSubstr("running"));
}

TEST_F(DaemonCommands, SendTheirOptions) {
    accept("POST /v1/instances/vm1/stop", instance_json("shut off"));
    accept("POST /v1/instances/vm1/fork", instance_json("shut off", "vm2"));
    accept("POST /v1/instances", instance_json("shut off"));
    EXPECT_EQ(run({"stop", "vm1", "--force", "--timeout", "0"}).code, 0);
    EXPECT_EQ(body_of("POST /v1/instances/vm1/stop"), json({{"force", true}, {"timeout_s", 0}}));
    EXPECT_EQ(run({"fork", "vm1", "vm2", "--disk", "/a=b=/c", "--start"}).code, 0);
    EXPECT_EQ(body_of("POST /v1/instances/vm1/fork"),
              json({{"name", "vm2"}, {"disks", {{"/a=b", "/c"}}}, {"start", true}}));
    EXPECT_EQ(run({"create", "vm1", "--profile", "P", "--count", "2"}).code, 0);
    EXPECT_EQ(body_of("POST /v1/instances"),
              json::parse(R"({"name":"vm1","gpus":[{"profile":"P"},{"profile":"P"}]})"));
}

TEST_F(DaemonCommands, CreateTakesAWholeRequestFromStandardInput) {
    accept("POST /v1/instances", instance_json("shut off"));
    EXPECT_EQ(run({"create", "--file", "-"}, R"({"name":"x","gpus":[{"profile":"P"}]})").code, 0);
    EXPECT_EQ(body_of("POST /v1/instances").at("name"), "x");
    EXPECT_EQ(run({"create", "vm7", "--file", "-"}, R"({"name":"x"})").code, 0);
    EXPECT_EQ(body_of("POST /v1/instances").at("name"), "vm7");
}

TEST_F(DaemonCommands, CreateRefusesAFileThatIsNoRequestWithoutAsking) {
    EXPECT_EQ(run({"create", "--file", "-"}, "[]").code, 1);
    EXPECT_THAT(run({"create", "--file", "-"}, R"({"name":"x","name":"y"})").err,
                HasSubstr("name"));
    EXPECT_THAT(run({"create", "--file", "/no/such/request"}).err, HasSubstr("/no/such/request"));
}

TEST_F(DaemonCommands, DeleteSaysThatDisksAreLeft) {
    daemon.answer("DELETE /v1/instances/vm1", operation_json("running"), 202);
    daemon.answer("GET /v1/operations/op-1", operation_json("done"));
    const Ended ended = run({"delete", "vm1", "--force"});
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_THAT(ended.out, AllOf(HasSubstr("vm1"), HasSubstr("disks")));
    EXPECT_EQ(daemon.wait_for("DELETE /v1/instances/vm1").query.at("force"), "true");
    EXPECT_EQ(json::parse(run({"delete", "vm1", "--json"}).out).at("deleted"), "vm1");
}

TEST_F(DaemonCommands, NameADomainOfAnyCharactersInThePath) {
    daemon.answer("GET /v1/instances/a%20%25%C3%BC", instance_json("running", "a"));
    EXPECT_EQ(run({"instance", "a %ü"}).code, 0);
}

TEST_F(DaemonCommands, SayWhatFailedWithDeviceDomainAndHolder) {
    daemon.answer("POST /v1/instances/vm1/start", operation_json("running"), 202);
    daemon.answer("GET /v1/operations/op-1",
                  operation_json("failed", "null",
                                 R"({"type":"urn:virt-vgpu:problem:busy","status":409,)"
                                 R"("detail":"vgpu0 is taken","device":"0000:41:00.4",)"
                                 R"("domain":"vm1","holder":"vm2"})"));
    const Ended ended = run({"start", "vm1"});
    EXPECT_EQ(ended.code, 1);
    EXPECT_EQ(ended.out, "");
    EXPECT_EQ(ended.err, "virt-vgpu: vgpu0 is taken (device 0000:41:00.4, domain vm1, held by "
                         "vm2)\n");
}

TEST_F(DaemonCommands, SayARefusalAtOnce) {
    daemon.refuse("POST /v1/instances/vm1/start",
                  http::problem_of(Error(ErrorCode::denied, "vm1 asks for no vGPU")));
    const Ended ended = run({"start", "vm1"});
    EXPECT_EQ(ended.code, 1);
    EXPECT_EQ(ended.err, "virt-vgpu: vm1 asks for no vGPU\n");
}

TEST_F(DaemonCommands, WarnOfWhatAnOperationLeftUndone) {
    json result = json::parse(instance_json("shut off"));
    result["warnings"] = {"0000:41:00.4 refuses its reset\033[2J"};
    accept("POST /v1/instances/vm1/stop", result.dump());
    const Ended ended = run({"stop", "vm1"});
    EXPECT_EQ(ended.code, 0);
    EXPECT_EQ(ended.err, "virt-vgpu: warning: 0000:41:00.4 refuses its reset?[2J\n");
}

TEST_F(DaemonCommands, ListInstances) {
    daemon.answer("GET /v1/instances", "[" + instance_json("running") + "]", 200, {{"Age", "7"}});
    const Ended ended = run({"instances"});
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_THAT(ended.out, HasSubstr("vm1   running  NVIDIA L40S-4Q  0000:41:00.4"));
    EXPECT_THAT(ended.err, HasSubstr("7 s old"));
    EXPECT_EQ(run({"instances", "--names"}).out, "vm1\n");
    EXPECT_EQ(json::parse(run({"instances", "--json"}).out).size(), 1U);
}

TEST_F(DaemonCommands, ListOperations) {
    daemon.answer("GET /v1/operations", "[" + operation_json("running") + "]");
    EXPECT_THAT(run({"operations"}).out, HasSubstr("op-1  start  vm1     running"));
    daemon.answer("GET /v1/operations/op-1", operation_json("done", instance_json("running")));
    EXPECT_THAT(run({"operations", "op-1"}).out,
                AllOf(HasSubstr("start vm1 (op-1): done"), HasSubstr("0000:41:00.4")));
    EXPECT_EQ(run({"operations", "op-2"}).code, 1);
}

TEST_F(DaemonCommands, PrintEscapeSequencesOfADomainHarmless) {
    const std::string name = R"(\u001b]0;owned\u0007)";
    daemon.answer("GET /v1/instances", "[" + instance_json("running", name) + "]");
    daemon.answer("GET /v1/instances/x", instance_json("running", name));
    for (const auto& arguments : std::vector<std::vector<std::string>>{
             {"instances"}, {"instances", "--json"}, {"instances", "--names"}, {"instance", "x"}}) {
        const Ended ended = run(arguments);
        EXPECT_EQ(ended.code, 0);
        EXPECT_THAT(ended.out, Not(HasSubstr("\033"))) << arguments.back();
        EXPECT_THAT(ended.out, Not(HasSubstr("\007"))) << arguments.back();
    }
}

TEST_F(DaemonCommands, RefuseAnAnswerThatIsNoJson) {
    daemon.answer("GET /v1/instances", "<html>");
    const Ended ended = run({"instances"});
    EXPECT_EQ(ended.code, 1);
    EXPECT_THAT(ended.err, HasSubstr("JSON"));
}

TEST_F(DaemonCommands, ReconcileIsMadeByTheDaemonThatRuns) {
    const std::string report = R"({"dry_run":true,"actions":[{"stage":"repair",)"
                               R"("text":"reset 0000:41:00.4","device":"0000:41:00.4",)"
                               R"("domain":null,"error":null}],"problems":["a\u001bb"]})";
    accept("POST /v1/reconcile", report);
    const Ended ended = run({"reconcile", "--dry-run"});
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_EQ(ended.out, "repair: would reset 0000:41:00.4\nnote: a?b\n");
    EXPECT_EQ(body_of("POST /v1/reconcile"), json({{"dry_run", true}}));
    accept("POST /v1/reconcile",
           R"({"dry_run":false,"actions":[{"stage":"repair","text":"x","error":"y"}]})");
    EXPECT_EQ(run({"reconcile"}).code, 1);
}

TEST_F(DaemonCommands, SayHowToStartADaemonThatIsNotThereAndWhichSocketWasTried) {
    daemon.end();
    const std::vector<std::vector<std::string>> commands{
        {"instances"},       {"instance", "vm1"}, {"start", "vm1"},
        {"operations"},      {"events"},          {"events", "--follow"},
        {"top", "--once"},   {"delete", "vm1"},   {"create", "vm1", "--profile", "P"},
        {"fork", "vm1", "x"}};
    for (const auto& arguments : commands) {
        const Ended ended = run(arguments);
        EXPECT_EQ(ended.code, 1) << arguments.front();
        EXPECT_EQ(ended.out, "") << arguments.front();
        EXPECT_THAT(ended.err, AllOf(HasSubstr("systemctl start virt-vgpud"),
                                     HasSubstr(daemon.socket()), Not(HasSubstr("as root"))))
            << arguments.front();
    }
    daemon.begin();
}

} // namespace vgpu
