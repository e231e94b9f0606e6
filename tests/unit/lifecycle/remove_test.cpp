#include "tests/unit/lifecycle/lifecycle_fixture.hpp"

#include <gmock/gmock.h>

namespace vgpu {

namespace {

using test::profile_4q;
using test::vf4;
using test::vm1;
using testing::HasSubstr;

class Remove : public test::Living {
protected:
    Remove() {
        hypervisor.add("vm1", vm1, profile_4q, {vf4});
        const auto started = lifecycle.start("vm1", soon());
        EXPECT_TRUE(started) << started.error().text();
    }
};

} // namespace

TEST_F(Remove, StopsFreesAndUndefines) {
    const auto gone = lifecycle.remove("vm1", {}, soon());
    ASSERT_TRUE(gone) << gone.error().text();
    EXPECT_FALSE(hypervisor.domain("vm1"));
    EXPECT_FALSE(claim(vf4));
    EXPECT_EQ(host.simulator.type(vf4), 0U);
}

TEST_F(Remove, KeepsClaimAndDomainWhileTheDeviceRefusesItsResetAndCanBeRepeated) {
    host.simulator.control("fault 0000:41:00.4 current_vgpu_type write EIO always");
    const auto refused = lifecycle.remove("vm1", {}, soon());
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().text(), HasSubstr("repeat the deletion"));
    EXPECT_TRUE(hypervisor.domain("vm1"));
    EXPECT_TRUE(claim(vf4));
    host.simulator.control("fault 0000:41:00.4 current_vgpu_type write EIO 0");
    ASSERT_TRUE(lifecycle.remove("vm1", {}, soon()));
    EXPECT_FALSE(hypervisor.domain("vm1"));
}

TEST_F(Remove, KeepsClaimAndDomainWhileAVmmThatLibvirtLostLives) {
    hypervisor.set_active("vm1", false);
    run_qemu(4242, vm1, vf4);
    EXPECT_FALSE(lifecycle.remove("vm1", {}, soon()));
    EXPECT_TRUE(hypervisor.domain("vm1"));
    EXPECT_TRUE(claim(vf4));
    EXPECT_EQ(host.simulator.counter("writes_while_open"), 0U);
}

TEST_F(Remove, FinishesADeletionOfADomainThatIsAlreadyGone) {
    hypervisor.remove("vm1");
    ASSERT_TRUE(lifecycle.remove("vm1", {}, soon()));
    EXPECT_FALSE(claim(vf4));
    const auto again = lifecycle.remove("vm1", {}, soon());
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().code(), ErrorCode::not_found);
}

TEST_F(Remove, ReleasesNothingWhenLibvirtDoesNotAnswer) {
    hypervisor.broken = Error(ErrorCode::timeout, "libvirt does not answer");
    EXPECT_FALSE(lifecycle.remove("vm1", {}, soon()));
    hypervisor.broken.reset();
    EXPECT_EQ(claim(vf4)->state, ClaimState::configured);
    EXPECT_TRUE(hypervisor.domain("vm1"));
}

} // namespace vgpu
