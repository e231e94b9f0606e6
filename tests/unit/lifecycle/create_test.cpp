#include "tests/unit/lifecycle/lifecycle_fixture.hpp"

#include <gmock/gmock.h>

#include <algorithm>

namespace vgpu {

namespace {

using test::profile_4q;
using test::vf4;
using test::vf5;
using test::vm1;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

class Create : public test::Living {};
using Fork = Create;

} // namespace

TEST_F(Create, DefinesAndStartsADomainWithItsVgpu) {
    const auto made = lifecycle.create(request("vm1"), soon());
    ASSERT_TRUE(made) << made.error().text();
    EXPECT_EQ(made->state, "running");
    ASSERT_EQ(made->gpus.size(), 1U);
    EXPECT_EQ(made->gpus[0].name, "vgpu0");
    EXPECT_EQ(made->gpus[0].profile, profile_4q);
    EXPECT_EQ(made->gpus[0].claim, ClaimState::configured);
    const std::string device = hypervisor.device_of("vm1");
    EXPECT_EQ(host.simulator.type(device), 1150U);
    EXPECT_EQ(made->gpus[0].device_path,
              host.configuration.paths.sysfs + "/bus/pci/devices/" + device);
}

TEST_F(Create, AnswersARepetitionWithWhatIsThere) {
    const auto first = lifecycle.create(request("vm1"), soon());
    ASSERT_TRUE(first) << first.error().text();
    const auto again = lifecycle.create(request("vm1"), soon());
    ASSERT_TRUE(again) << again.error().text();
    EXPECT_EQ(again->uuid, first->uuid);
    EXPECT_EQ(std::count(hypervisor.calls.begin(), hypervisor.calls.end(), "start vm1"), 1);
}

TEST_F(Create, FinishesWhatACrashLeftBetweenDefineAndStart) {
    ASSERT_TRUE(lifecycle.create(request("vm1", false), soon()));
    const auto again = lifecycle.create(request("vm1", true), soon());
    ASSERT_TRUE(again) << again.error().text();
    EXPECT_EQ(again->state, "running");
}

TEST_F(Create, RefusesAnotherRequestUnderTheSameName) {
    ASSERT_TRUE(lifecycle.create(request("vm1"), soon()));
    auto other = request("vm1");
    other.memory_mib = 4096;
    const auto refused = lifecycle.create(other, soon());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), ErrorCode::conflict);
    EXPECT_THAT(refused.error().text(), HasSubstr("made from another request"));
}

TEST_F(Create, RefusesTheNameOfADomainThatItDidNotMake) {
    hypervisor.add("vm1", vm1, "", {});
    const auto refused = lifecycle.create(request("vm1"), soon());
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().text(), HasSubstr("not made by virt-vgpu"));
}

TEST_F(Create, LeavesNothingBehindWhenTheFirstStartFails) {
    hypervisor.refused.emplace("start", Error(ErrorCode::io, "no such disk"));
    const auto failed = lifecycle.create(request("vm1"), soon());
    ASSERT_FALSE(failed);
    EXPECT_THAT(failed.error().text(), HasSubstr("no such disk"));
    EXPECT_FALSE(hypervisor.domain("vm1"));
    EXPECT_FALSE(claim(vf4));
    EXPECT_FALSE(claim(vf5));
}

TEST_F(Create, GivesTwoInstancesADeviceEachAndRefusesTheThirdWithTheReason) {
    ASSERT_TRUE(lifecycle.create(request("a"), soon()));
    ASSERT_TRUE(lifecycle.create(request("b"), soon()));
    EXPECT_NE(hypervisor.device_of("a"), hypervisor.device_of("b"));
    const auto third = lifecycle.create(request("c"), soon());
    ASSERT_FALSE(third);
    EXPECT_THAT(third.error().text(), HasSubstr("2 claimed"));
    EXPECT_FALSE(hypervisor.domain("c"));
}

TEST_F(Create, GivesOneDomainTwoDevicesOrNone) {
    auto two = request("vm1");
    two.gpus.push_back(two.gpus[0]);
    two.gpus[1].name = "vgpu1";
    const auto made = lifecycle.create(two, soon());
    ASSERT_TRUE(made) << made.error().text();
    ASSERT_EQ(made->gpus.size(), 2U);
    EXPECT_NE(made->gpus[0].device_path, made->gpus[1].device_path);
    auto more = request("vm2");
    EXPECT_FALSE(lifecycle.create(more, soon()));
}

TEST_F(Create, DoesNotStartADomainThatOnlyShallBeDefined) {
    const auto made = lifecycle.create(request("vm1", false), soon());
    ASSERT_TRUE(made) << made.error().text();
    EXPECT_EQ(made->state, "shut off");
    EXPECT_THAT(hypervisor.calls, Not(Contains("start vm1")));
    EXPECT_FALSE(claim(hypervisor.device_of("vm1")));
}

TEST_F(Create, RefusesAProfileThatNoGpuHas) {
    auto wrong = request("vm1");
    wrong.gpus[0].profile = "L40S-5Q";
    const auto refused = lifecycle.create(wrong, soon());
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().text(), HasSubstr("L40S-5Q"));
}

TEST_F(Create, RefusesAVfUnderALibvirtThatCannotPassItOn) {
    hypervisor.known = {"QEMU", 9000000, 7002000};
    const auto refused = lifecycle.create(request("vm1"), soon());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), ErrorCode::unsupported);
    EXPECT_THAT(refused.error().text(), HasSubstr("9.7.0"));
}

TEST_F(Fork, AsksForTheSameOnADeviceOfItsOwn) {
    ASSERT_TRUE(lifecycle.create(request("vm1"), soon()));
    const auto made = lifecycle.fork("vm1", {"vm2", std::nullopt, {}, true}, soon());
    ASSERT_TRUE(made) << made.error().text();
    EXPECT_EQ(made->state, "running");
    EXPECT_EQ(made->gpus.at(0).profile, profile_4q);
    EXPECT_NE(hypervisor.device_of("vm1"), hypervisor.device_of("vm2"));
}

TEST_F(Fork, RefusesANameThatIsTaken) {
    ASSERT_TRUE(lifecycle.create(request("vm1"), soon()));
    hypervisor.add("vm2", test::vm2, "", {});
    const auto refused = lifecycle.fork("vm1", {"vm2", std::nullopt, {}, false}, soon());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), ErrorCode::conflict);
}

TEST_F(Fork, MakesNothingWhenThereIsNoDevice) {
    ASSERT_TRUE(lifecycle.create(request("a"), soon()));
    ASSERT_TRUE(lifecycle.create(request("b"), soon()));
    EXPECT_FALSE(lifecycle.fork("a", {"c", std::nullopt, {}, false}, soon()));
    EXPECT_FALSE(hypervisor.domain("c"));
}

} // namespace vgpu
