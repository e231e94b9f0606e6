#include "agent/cli/event_text.hpp"
#include "agent/cli/instance_text.hpp"
#include "agent/cli/operation_text.hpp"
#include "agent/cli/reconcile_answer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vgpu::cli {

namespace {

using testing::HasSubstr;
using testing::Not;

/// Texts as a hostile domain's name could be: they clear the screen, end the line, turn it around.
constexpr const char* hostile = R"("\u001b[2J\u009b2J\r\n\u202evm")";

Json hostile_instance() {
    const std::string text = hostile;
    return Json::parse(R"({"uuid":)" + text + R"(,"name":)" + text + R"(,"state":)" + text +
                       R"(,"gpus":[{"name":)" + text + R"(,"profile":)" + text +
                       R"(,"device_path":)" + text + R"(,"claim":)" + text + "}]}");
}

void expect_harmless(const std::string& text) {
    EXPECT_THAT(text, Not(HasSubstr("\033")));
    EXPECT_THAT(text, Not(HasSubstr("\xc2\x9b")));
    EXPECT_THAT(text, Not(HasSubstr("\r")));
    EXPECT_THAT(text, Not(HasSubstr("\xe2\x80\xae")));
}

} // namespace

TEST(DaemonText, MakesHostileNamesHarmless) {
    const Json instance = hostile_instance();
    expect_harmless(instance_text(instance, false));
    expect_harmless(instances_text(Json::array({instance}), false));
    EXPECT_EQ(instance_names(Json::array({instance, {{"name", "vm1"}}})), "vm1\n");
    const Json operation{{"id", instance["name"]},
                         {"kind", instance["name"]},
                         {"target", instance["name"]},
                         {"state", "failed"},
                         {"problem", {{"detail", instance["name"]}, {"device", instance["name"]}}}};
    expect_harmless(operation_text(operation, false));
    expect_harmless(operations_text(Json::array({operation}), false));
    for (const char* kind : {"log", "operation", "libvirt", "reconcile", "other"}) {
        expect_harmless(event_text({"1", kind, operation.dump()}));
        expect_harmless(event_text({"1", kind, hostile}));
        expect_harmless(event_text({"1", kind, "\033[2J"}));
    }
    expect_harmless(event_json({"\033", "\033", "\033[2J\xc2\x9b"}));
    expect_harmless(written(instance));
}

TEST(DaemonText, SurvivesAnswersOfAnyShape) {
    for (const char* text : {"null", "[]", "{}", "7", "\"x\"", R"([7,null,{"gpus":7}])",
                             R"({"gpus":[7,[],{"name":{}}],"problem":7,"result":[]})"}) {
        const Json json = Json::parse(text);
        EXPECT_NE(instance_text(json, false), "") << text;
        EXPECT_NE(instances_text(json, false), "") << text;
        EXPECT_NE(operation_text(json, false), "") << text;
        EXPECT_NE(operations_text(json, false), "") << text;
        EXPECT_EQ(report_of(json).failures(), 0U) << text;
        EXPECT_EQ(instance_names(json), "") << text;
    }
}

TEST(DaemonText, ShowsTheProfilesAndDevicesOfAnInstanceInOneRow) {
    const Json instance = Json::parse(R"({"name":"vm1","state":"running","uuid":"u","gpus":[
        {"profile":"P-4Q","device_path":"/sys/bus/pci/devices/0000:41:00.4"},
        {"profile":"P-4Q","device_path":"/sys/bus/mdev/devices/0000aaaa"}]})");
    const std::string text = instances_text(Json::array({instance}), false);
    EXPECT_THAT(text, HasSubstr("2x P-4Q"));
    EXPECT_THAT(text, HasSubstr("0000:41:00.4, 0000aaaa"));
}

TEST(DaemonText, TellsWhyAnOperationHasFailedAndWhoHoldsTheDevice) {
    const Json operation = Json::parse(R"({"id":"op-1","kind":"start","target":"vm1",
        "state":"failed","problem":{"type":"urn:virt-vgpu:problem:busy","status":409,
        "detail":"it is claimed","device":"0000:41:00.4","domain":"vm1","holder":"vm2"}})");
    EXPECT_THAT(operation_text(operation, false),
                HasSubstr("it is claimed (device 0000:41:00.4, domain vm1, held by vm2)"));
    EXPECT_EQ(operation_summary(operation),
              "start vm1: failed: it is claimed (device 0000:41:00.4, domain vm1, held by vm2)");
}

TEST(DaemonText, PutsAnEventInOneLine) {
    EXPECT_EQ(event_text({"1", "log", R"({"level":"warning","text":"a\nb"})"}),
              "log        warning: a?b\n");
    EXPECT_EQ(event_text({"1", "libvirt", R"({"up":false,"trouble":"gone"})"}),
              "libvirt    gone\n");
    EXPECT_EQ(event_text({"1", "libvirt", R"({"domain":"u"})"}),
              "libvirt    domain u has changed\n");
    EXPECT_EQ(event_text({"1", "reconcile",
                          R"({"actions":[{"stage":"repair","text":"reset d"},
                                         {"stage":"release","text":"free e","error":"why"}]})"}),
              "reconcile  repair: reset d; release: free e: not done: why\n");
    EXPECT_EQ(event_text({"1", "resync", ""}), "resync     events in between are lost\n");
}

TEST(DaemonText, GivesProgramsTheWholeEventInOneLine) {
    EXPECT_EQ(event_json({"run.7", "log", "{\"text\":\"a\\nb\"}"}),
              "{\"id\":\"run.7\",\"event\":\"log\",\"data\":{\"text\":\"a\\nb\"}}\n");
    EXPECT_EQ(event_json({"", "x", "no JSON"}),
              "{\"id\":\"\",\"event\":\"x\",\"data\":\"no JSON\"}\n");
}

TEST(ReconcileAnswer, IsTheReportThatWasSent) {
    ReconcileReport sent;
    sent.dry_run = true;
    Action done;
    done.stage = Stage::rebind;
    done.text = "point vm1 at a free device";
    done.domain_name = "vm1";
    done.domain_uuid = Uuid::parse("f0f0f0f0-0000-4000-8000-000000000001").value();
    Action failed;
    failed.stage = Stage::repair;
    failed.text = "reset it";
    failed.device = DeviceKey::parse_device("0000:41:00.4").value();
    failed.error = Error(ErrorCode::io, "it refused");
    sent.actions = {done, failed};
    sent.problems = {"libvirt is away"};
    const ReconcileReport read = report_of(*parse_answer(report_json(sent)));
    EXPECT_EQ(report_json(read), report_json(sent));
    EXPECT_EQ(report_text(read), report_text(sent));
    EXPECT_EQ(read.failures(), 1U);
}

} // namespace vgpu::cli
