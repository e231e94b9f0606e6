#include "tests/unit/reconcile/reconcile_fixture.hpp"

#include <gmock/gmock.h>

namespace vgpu {

namespace {

using test::profile_4q;
using test::vf4;
using test::vf5;
using test::vm1;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class RepairStage : public test::Reconciling {
protected:
    RepairStage() { rebind = false; }
};

using AdoptStage = RepairStage;

} // namespace

TEST_F(RepairStage, ResetsADeviceWithATypeAndNoClaim) {
    host.simulator.control("set-type 0000:41:00.4 1150");
    EXPECT_THAT(actions(), ElementsAre(HasSubstr("reset 0000:41:00.4")));
    EXPECT_EQ(host.simulator.type(vf4), 0U);
}

TEST_F(RepairStage, LeavesADeviceThatSomebodyHasOpen) {
    host.simulator.control("set-type 0000:41:00.4 1150");
    run_qemu(4242, vm1, vf4);
    EXPECT_THAT(actions(), IsEmpty());
    EXPECT_EQ(host.simulator.type(vf4), 1150U);
}

TEST_F(RepairStage, LeavesADeviceThatADomainWithoutARequestNames) {
    host.simulator.control("set-type 0000:41:00.4 1150");
    hypervisor.add("theirs", vm1, "", {vf4});
    EXPECT_THAT(actions(), IsEmpty());
    EXPECT_EQ(host.simulator.type(vf4), 1150U);
}

TEST_F(RepairStage, LeavesADeviceThatTheConfigurationDoesNotGive) {
    host.configuration.gpus.ignored = {PciAddress::parse(vf4).value()};
    host.simulator.control("set-type 0000:41:00.4 1150");
    EXPECT_THAT(actions(), IsEmpty());
    EXPECT_EQ(host.simulator.type(vf4), 1150U);
}

TEST_F(RepairStage, LeavesEverythingWhileLibvirtCannotSayWhoseItIs) {
    reachable = false;
    host.simulator.control("set-type 0000:41:00.4 1150");
    EXPECT_THAT(actions(), IsEmpty());
    EXPECT_EQ(host.simulator.type(vf4), 1150U);
}

TEST_F(AdoptStage, GivesARunningDomainTheClaimThatItLacks) {
    hypervisor.add("vm1", vm1, profile_4q, {vf4});
    hypervisor.set_active("vm1", true);
    host.simulator.control("set-type 0000:41:00.4 1150");
    run_qemu(4242, vm1, vf4);
    EXPECT_THAT(actions(), ElementsAre(StartsWith("adopt: claim 0000:41:00.4 for domain vm1")));
    ASSERT_TRUE(claim(vf4));
    EXPECT_EQ(claim(vf4)->domain_uuid.to_string(), vm1);
    EXPECT_EQ(claim(vf4)->device, "vgpu0");
    EXPECT_TRUE(claim(vf4)->managed);
    EXPECT_EQ(host.simulator.type(vf4), 1150U);
    EXPECT_THAT(actions(), IsEmpty());
}

TEST_F(AdoptStage, ProtectsTheDeviceOfARunningDomainThatAskedForNothing) {
    hypervisor.add("theirs", vm1, "", {vf4});
    hypervisor.set_active("theirs", true);
    run_qemu(4242, vm1, vf4);
    actions();
    ASSERT_TRUE(claim(vf4));
    EXPECT_FALSE(claim(vf4)->managed);
}

TEST_F(AdoptStage, ReportsARunningDomainOnADeviceThatAnotherHas) {
    constexpr const char* other = "f0f0f0f0-0000-4000-8000-000000000002";
    hypervisor.add("vm2", other, profile_4q, {vf4});
    hypervisor.set_active("vm2", true);
    hypervisor.add("vm1", vm1, profile_4q, {vf4});
    hypervisor.set_active("vm1", true);
    leave_claim(vf4, ClaimState::configured, other);
    run_qemu(4242, vm1, vf4);
    EXPECT_THAT(actions(), IsEmpty()); // vm2 has the claim: nothing of it is changed
    EXPECT_EQ(claim(vf4)->domain_uuid.to_string(), other);
}

TEST_F(AdoptStage, DoesNotClaimForADomainWhoseVmmIsNotSeen) {
    hypervisor.add("vm1", vm1, profile_4q, {vf5});
    hypervisor.set_active("vm1", true);
    EXPECT_THAT(actions(), IsEmpty());
    EXPECT_FALSE(claim(vf5));
}

} // namespace vgpu
