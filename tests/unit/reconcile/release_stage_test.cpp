#include "tests/unit/reconcile/reconcile_fixture.hpp"

#include <gmock/gmock.h>

#include <filesystem>

namespace vgpu {

namespace {

using test::profile_4q;
using test::vf4;
using test::vf5;
using test::vm1;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class ReleaseStage : public test::Reconciling {
protected:
    ReleaseStage() { rebind = false; }
};

} // namespace

TEST_F(ReleaseStage, FreesTheDeviceOfADomainThatStoppedUnseen) {
    hypervisor.add("vm1", vm1, profile_4q, {vf4});
    leave_claim(vf4, ClaimState::configured);
    EXPECT_THAT(actions(), ElementsAre(StartsWith("release: reset and free 0000:41:00.4")));
    EXPECT_FALSE(claim(vf4));
    EXPECT_EQ(host.simulator.type(vf4), 0U);
    EXPECT_THAT(actions(), IsEmpty());
}

TEST_F(ReleaseStage, FreesTheDeviceOfADomainThatIsGone) {
    leave_claim(vf4, ClaimState::configured);
    EXPECT_THAT(actions(), ElementsAre(StartsWith("release:")));
    EXPECT_FALSE(claim(vf4));
}

TEST_F(ReleaseStage, ForgetsAReservationWithoutTouchingTheDevice) {
    leave_claim(vf4, ClaimState::claimed);
    EXPECT_THAT(actions(), ElementsAre(StartsWith("release: forget 0000:41:00.4")));
    EXPECT_FALSE(claim(vf4));
    EXPECT_EQ(host.simulator.counter("0000:41:00.4.writes"), 0U);
}

TEST_F(ReleaseStage, KeepsTheClaimOfADomainThatLibvirtSaysIsActive) {
    hypervisor.add("vm1", vm1, profile_4q, {vf4});
    hypervisor.set_active("vm1", true);
    const Claim before = leave_claim(vf4, ClaimState::configured);
    pass();
    ASSERT_TRUE(claim(vf4));
    EXPECT_EQ(claim(vf4)->incarnation, before.incarnation);
    EXPECT_EQ(claim(vf4)->state, ClaimState::configured);
    EXPECT_EQ(host.simulator.type(vf4), 1150U);
}

TEST_F(ReleaseStage, KeepsTheClaimOfADomainThatBecameActiveSinceTheList) {
    hypervisor.add("vm1", vm1, profile_4q, {vf4});
    hypervisor.on_list = [this] { hypervisor.set_active("vm1", true); };
    leave_claim(vf4, ClaimState::configured);
    pass();
    ASSERT_TRUE(claim(vf4));
    EXPECT_EQ(claim(vf4)->state, ClaimState::configured);
}

TEST_F(ReleaseStage, FreesNothingWhileLibvirtCannotBeReached) {
    reachable = false;
    leave_claim(vf4, ClaimState::configured);
    const auto report = pass();
    EXPECT_THAT(report.actions, IsEmpty());
    EXPECT_THAT(report.problems, Contains(HasSubstr("libvirt is not there")));
    ASSERT_TRUE(claim(vf4));
    EXPECT_EQ(claim(vf4)->state, ClaimState::configured);
}

TEST_F(ReleaseStage, FreesNothingWhenTheListOfDomainsFails) {
    hypervisor.broken = Error(ErrorCode::timeout, "libvirt does not answer");
    leave_claim(vf4, ClaimState::configured);
    EXPECT_THAT(pass().actions, IsEmpty());
    EXPECT_EQ(claim(vf4)->state, ClaimState::configured);
}

TEST_F(ReleaseStage, FreesNothingWhenLibvirtDoesNotSayWhetherTheDomainRuns) {
    hypervisor.add("vm1", vm1, profile_4q, {vf4});
    hypervisor.refused.emplace("active", Error(ErrorCode::timeout, "no answer"));
    leave_claim(vf4, ClaimState::configured);
    EXPECT_THAT(actions(), ElementsAre("release! no answer"));
    EXPECT_EQ(claim(vf4)->state, ClaimState::configured);
}

TEST_F(ReleaseStage, FinishesWhatIsDrainingWithoutLibvirt) {
    reachable = false;
    leave_claim(vf4, ClaimState::draining);
    EXPECT_THAT(actions(), ElementsAre(StartsWith("release:")));
    EXPECT_FALSE(claim(vf4));
    EXPECT_EQ(host.simulator.type(vf4), 0U);
}

TEST_F(ReleaseStage, NeverResetsUnderAQemuThatLibvirtHasForgotten) {
    leave_claim(vf4, ClaimState::configured);
    run_qemu(4242, vm1, vf4);
    EXPECT_THAT(actions(), ElementsAre(HasSubstr("4242")));
    ASSERT_TRUE(claim(vf4));
    EXPECT_EQ(claim(vf4)->state, ClaimState::draining);
    EXPECT_EQ(host.simulator.type(vf4), 1150U);
    EXPECT_EQ(host.simulator.counter("writes_while_open"), 0U);
    host.simulator.control("process-remove 4242");
    EXPECT_THAT(actions(), ElementsAre(StartsWith("release: reset and free")));
    EXPECT_FALSE(claim(vf4));
}

TEST_F(ReleaseStage, LeavesADomainAloneWhoseInstanceLockIsHeld) {
    busy = vm1;
    leave_claim(vf4, ClaimState::draining);
    EXPECT_THAT(actions(), IsEmpty());
    EXPECT_TRUE(claim(vf4));
}

TEST_F(ReleaseStage, ADeviceThatRefusesItsResetStaysClaimedAndStopsNothingElse) {
    leave_claim(vf4, ClaimState::configured);
    leave_claim(vf5, ClaimState::configured);
    host.simulator.control("fault 0000:41:00.4 current_vgpu_type write EIO always");
    const auto done = actions();
    EXPECT_THAT(done, Contains(StartsWith("release! ")));
    EXPECT_THAT(done, Contains(StartsWith("release: reset and free 0000:41:00.5")));
    ASSERT_TRUE(claim(vf4));
    EXPECT_EQ(claim(vf4)->state, ClaimState::draining);
    EXPECT_FALSE(claim(vf5));
}

TEST_F(ReleaseStage, AClaimThatCannotBeReadStaysAndIsTold) {
    leave_claim(vf4, ClaimState::configured);
    leave_claim(vf5, ClaimState::configured);
    const std::string file = host.claims.path(DeviceKey::parse_device(vf4).value());
    test::write_file(file, "{broken");
    const auto report = pass();
    EXPECT_THAT(report.problems, Contains(HasSubstr("0000:41:00.4 counts as claimed")));
    EXPECT_TRUE(std::filesystem::exists(file));
    EXPECT_EQ(host.simulator.type(vf4), 1150U);
    EXPECT_FALSE(claim(vf5));
}

TEST_F(ReleaseStage, ADriverThatDoesNotComeBackCostsOnlyItsOwnDevice) {
    leave_claim(vf4, ClaimState::configured);
    leave_claim(vf5, ClaimState::configured);
    host.simulator.control("block 0000:41:00.4");
    const auto done = actions();
    EXPECT_THAT(done, Contains(StartsWith("release: reset and free 0000:41:00.5")));
    EXPECT_TRUE(claim(vf4));
    EXPECT_FALSE(claim(vf5));
    host.simulator.control("unblock 0000:41:00.4");
}

TEST_F(ReleaseStage, ForgetsAForeignDomainsClaimWithoutTouchingItsDevice) {
    Claim made = leave_claim(vf4, ClaimState::claimed); // as a file to be changed
    host.simulator.control("set-type 0000:41:00.4 1150");
    made.state = ClaimState::configured;
    made.managed = false;
    {
        const auto lock = host.locks.try_device(DeviceKey::parse_device(vf4).value()).value();
        ASSERT_TRUE(host.claims.replace(*lock, made));
    }
    hypervisor.add("vm1", vm1, "", {vf4});
    EXPECT_THAT(actions(), ElementsAre(StartsWith("release: forget 0000:41:00.4")));
    EXPECT_FALSE(claim(vf4));
    EXPECT_EQ(host.simulator.type(vf4), 1150U);
}

} // namespace vgpu
