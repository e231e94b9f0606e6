#include "agent/cli/tables.hpp"
#include "agent/cli/top_view.hpp"
#include "agent/core/inventory_json.hpp"
#include "tests/unit/cli/made_up.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace vgpu::cli {

namespace {

using test::claimed;
using test::dirty;
using test::host_of;
using test::l40s;
using test::l40s_4q;
using test::vf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* gpu = "0000:41:00.0";

DeviceInfo free_vf(const char* address = "0000:41:00.4") {
    return vf(address, gpu, {l40s_4q});
}

/// Answers as virt-vgpud makes them of this host.
TopAnswers answers_of(const Inventory& inventory) {
    TopAnswers answers;
    answers.host = Json::parse(R"({"hostname":"node1","libvirt":{"up":true,"version":"10.0.0"}})");
    answers.gpus = *parse_answer(gpus_json(inventory));
    answers.devices = *parse_answer(devices_json(inventory));
    answers.resources =
        Json::parse(R"({"gpus":[{"gpu":"0000:41:00.0","framebuffer_claimed_mib":12288}]})");
    return answers;
}

std::size_t lines_of(const std::string& text) {
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

} // namespace

TEST(TopView, CallsTheStateOfADeviceWhatDevicesCallsIt) {
    DeviceInfo unmanaged = free_vf();
    unmanaged.managed = false;
    DeviceInfo held = free_vf();
    held.in_use = true;
    DeviceInfo broken = free_vf();
    broken.type_id = std::nullopt;
    broken.error = "read: Input/output error";
    DeviceInfo none = broken;
    none.framework = std::nullopt;
    DeviceInfo unknown = free_vf();
    unknown.claim = StoredClaim{unknown.key(), fail(ErrorCode::corrupt, "broken")};
    DeviceInfo draining = claimed(free_vf(), l40s_4q);
    draining.claim->claim->state = ClaimState::draining;
    const std::vector<DeviceInfo> devices{free_vf(),
                                          dirty(free_vf(), l40s_4q),
                                          claimed(free_vf(), l40s_4q),
                                          unmanaged,
                                          dirty(unmanaged, l40s_4q),
                                          held,
                                          broken,
                                          none,
                                          unknown,
                                          draining};
    const Json sent = *parse_answer(devices_json(host_of({l40s(gpu)}, devices)));
    ASSERT_EQ(sent.size(), devices.size());
    for (std::size_t i = 0; i < devices.size(); ++i) {
        EXPECT_EQ(device_state(sent[i]), state_word(devices[i])) << i;
    }
}

TEST(TopView, ShowsDomainAndFramebufferOfEachDevice) {
    const auto inventory =
        host_of({l40s(gpu)}, {free_vf(), claimed(free_vf("0000:41:00.5"), l40s_4q)});
    const std::string text = top_text(answers_of(inventory), "", 0, false);
    EXPECT_THAT(text, HasSubstr("node1, 1 of 2 devices in use, libvirt 10.0.0"));
    EXPECT_THAT(text, HasSubstr("12 GiB of 48 GiB  [#####---------------]"));
    EXPECT_THAT(text, HasSubstr("NVIDIA L40S-4Q        4 GiB  vm1"));
    // Those in use come first.
    EXPECT_LT(text.find("0000:41:00.5"), text.find("0000:41:00.4"));
}

TEST(TopView, KeepsToTheRowsOfTheTerminalAndSaysWhatItLeavesOut) {
    std::vector<DeviceInfo> devices;
    for (const char* address : {"0000:41:00.4", "0000:41:00.5", "0000:41:00.6", "0000:41:00.7"}) {
        devices.push_back(free_vf(address));
    }
    const TopAnswers answers = answers_of(host_of({l40s(gpu)}, devices));
    const std::string whole = top_text(answers, "", 0, false);
    EXPECT_EQ(top_text(answers, "", lines_of(whole), false), whole);
    const std::string cut = top_text(answers, "", lines_of(whole) - 1, false);
    EXPECT_EQ(lines_of(cut), lines_of(whole) - 1);
    EXPECT_THAT(cut, HasSubstr("and 2 more"));
    EXPECT_THAT(cut, Not(HasSubstr("0000:41:00.6")));
}

TEST(TopView, SaysWhatIsWrong) {
    TopAnswers answers = answers_of(host_of({l40s(gpu)}, {free_vf()}));
    answers.host = Json::parse(R"({"hostname":"\u001b[2J","libvirt":{"up":false,"trouble":"gone"},
                                   "reconcile":{"last_error":"stuck"}})");
    const std::string text = top_text(answers, "no\033answer", 0, false);
    EXPECT_THAT(text, HasSubstr("libvirt is away"));
    EXPECT_THAT(text, HasSubstr("libvirt: gone"));
    EXPECT_THAT(text, HasSubstr("reconcile: stuck"));
    EXPECT_THAT(text, HasSubstr("no?answer"));
    EXPECT_THAT(text, Not(HasSubstr("\033")));
}

TEST(TopView, SurvivesAnswersOfAnyShape) {
    TopAnswers answers;
    answers.gpus = Json::parse(R"([7,{"gpu":7,"vfs":-1,"framebuffer_mib":99999999999}])");
    answers.devices = Json::parse(R"([null,{"claim":7,"holder":[],"type_id":-3}])");
    EXPECT_NE(top_text(answers, "", 3, false), "");
}

} // namespace vgpu::cli
