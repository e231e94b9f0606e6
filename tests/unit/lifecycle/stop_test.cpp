#include "agent/core/suspects.hpp"
#include "tests/unit/lifecycle/lifecycle_fixture.hpp"

#include <gmock/gmock.h>

namespace vgpu {

namespace {

using test::profile_4q;
using test::vf4;
using test::vm1;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

class Stop : public test::Living {
protected:
    Stop() {
        hypervisor.add("vm1", vm1, profile_4q, {vf4});
        const auto started = lifecycle.start("vm1", soon());
        EXPECT_TRUE(started) << started.error().text();
    }
    [[nodiscard]] bool is_suspect() const {
        return suspects(host.configuration.paths, host.host.boot_id)
            .contains(DeviceKey::parse_device(vf4).value());
    }
    StopOptions at_once{std::chrono::milliseconds(0), false};
};

} // namespace

TEST_F(Stop, LetsTheGuestShutDownAndFreesTheDevice) {
    const auto stopped = lifecycle.stop("vm1", {}, soon());
    ASSERT_TRUE(stopped) << stopped.error().text();
    EXPECT_EQ(stopped->state, "shut off");
    EXPECT_THAT(hypervisor.calls, Contains("shutdown vm1"));
    EXPECT_THAT(hypervisor.calls, Not(Contains("destroy vm1")));
    EXPECT_FALSE(claim(vf4));
    EXPECT_EQ(host.simulator.type(vf4), 0U);
}

TEST_F(Stop, EndsTheVmmBySigtermWhenTheGuestDoesNotObey) {
    hypervisor.guest_obeys = false;
    const auto stopped = lifecycle.stop("vm1", at_once, soon());
    ASSERT_TRUE(stopped) << stopped.error().text();
    EXPECT_THAT(hypervisor.calls, Contains("destroy vm1"));
    EXPECT_THAT(hypervisor.calls, Not(Contains("force vm1")));
    EXPECT_FALSE(is_suspect());
}

TEST_F(Stop, SuspectsADeviceWhoseYoungVmmHadToBeKilled) {
    hypervisor.guest_obeys = false;
    hypervisor.refused.emplace("destroy", Error(ErrorCode::busy, "would not end"));
    const auto stopped = lifecycle.stop("vm1", at_once, soon());
    ASSERT_TRUE(stopped) << stopped.error().text();
    EXPECT_THAT(hypervisor.calls, Contains("force vm1"));
    EXPECT_TRUE(is_suspect());
    EXPECT_FALSE(claim(vf4));
}

TEST_F(Stop, DoesNotAskTheGuestWhenForced) {
    ASSERT_TRUE(lifecycle.stop("vm1", {std::chrono::seconds(15), true}, soon()));
    EXPECT_THAT(hypervisor.calls, Not(Contains("shutdown vm1")));
    EXPECT_THAT(hypervisor.calls, Contains("destroy vm1"));
}

TEST_F(Stop, FreesWhatTheHookCouldNot) {
    hook_installed = false;
    const auto stopped = lifecycle.stop("vm1", {}, soon());
    ASSERT_TRUE(stopped) << stopped.error().text();
    EXPECT_FALSE(claim(vf4));
    EXPECT_EQ(host.simulator.type(vf4), 0U);
}

TEST_F(Stop, KeepsTheClaimAndSaysWhyWhenTheDeviceRefusesItsReset) {
    host.simulator.control("fault 0000:41:00.4 current_vgpu_type write EIO always");
    const auto stopped = lifecycle.stop("vm1", {}, soon());
    ASSERT_TRUE(stopped) << stopped.error().text();
    EXPECT_THAT(stopped->warnings, Contains(HasSubstr(vf4)));
    ASSERT_TRUE(claim(vf4));
    EXPECT_EQ(claim(vf4)->state, ClaimState::draining);
}

TEST_F(Stop, OfAStoppedDomainIsDoneAtOnce) {
    ASSERT_TRUE(lifecycle.stop("vm1", {}, soon()));
    const auto again = lifecycle.stop("vm1", {}, soon());
    ASSERT_TRUE(again) << again.error().text();
    EXPECT_EQ(again->state, "shut off");
}

} // namespace vgpu
