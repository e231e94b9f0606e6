#include "tests/unit/reconcile/reconcile_fixture.hpp"

#include <gmock/gmock.h>

namespace vgpu {

namespace {

using test::profile_4q;
using test::vf4;
using test::vf5;
using test::vm1;
using test::vm2;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

constexpr const char* vm3 = "f0f0f0f0-0000-4000-8000-000000000003";

class Rebind : public test::Reconciling {};

} // namespace

TEST_F(Rebind, PointsAShutOffDomainAtAFreeDeviceWhenAnotherTookItsOwn) {
    hypervisor.add("vm1", vm1, profile_4q, {vf4});
    hypervisor.add("vm2", vm2, profile_4q, {vf4});
    hypervisor.set_active("vm2", true);
    leave_claim(vf4, ClaimState::configured, vm2);
    EXPECT_THAT(actions(),
                Contains(StartsWith("rebind: point domain vm1 at vgpu0 on 0000:41:00.5")));
    EXPECT_EQ(hypervisor.device_of("vm1"), vf5);
    EXPECT_EQ(hypervisor.device_of("vm2"), vf4);
    EXPECT_THAT(actions(), IsEmpty());
}

TEST_F(Rebind, GivesTwoShutOffDomainsADeviceEach) {
    hypervisor.add("vm1", vm1, profile_4q, {vf4});
    hypervisor.add("vm2", vm2, profile_4q, {vf4});
    actions();
    EXPECT_NE(hypervisor.device_of("vm1"), hypervisor.device_of("vm2"));
    EXPECT_THAT(actions(), IsEmpty());
}

TEST_F(Rebind, DoesNotMoveDomainsToAndFroWhenThereAreFewerDevicesThanDomains) {
    hypervisor.add("vm1", vm1, profile_4q, {vf4});
    hypervisor.add("vm2", vm2, profile_4q, {vf5});
    hypervisor.add("vm3", vm3, profile_4q, {vf4});
    hypervisor.calls.clear();
    EXPECT_THAT(actions(), IsEmpty());
    EXPECT_THAT(hypervisor.calls, IsEmpty());
    EXPECT_EQ(hypervisor.device_of("vm3"), vf4);
}

TEST_F(Rebind, GivesACloneADeviceOfItsOwn) {
    hypervisor.add("vm1", vm1, profile_4q, {vf4});
    std::string xml = hypervisor.domain("vm1").value().xml;
    const std::string of_vm1(vm1);
    // As `virt-clone` does: another UUID and name, the metadata as they were.
    xml.replace(xml.find("<uuid>") + 6, of_vm1.size(), vm2);
    xml.replace(xml.find("<name>") + 6, 3, "vm2");
    ASSERT_TRUE(hypervisor.define(xml));
    EXPECT_THAT(actions(), ElementsAre(HasSubstr("domain vm2")));
    EXPECT_EQ(hypervisor.device_of("vm2"), vf5);
    EXPECT_EQ(hypervisor.device_of("vm1"), vf4);
    EXPECT_THAT(actions(), IsEmpty());
}

TEST_F(Rebind, LeavesARunningDomainsDefinitionAlone) {
    hypervisor.add("vm1", vm1, profile_4q, {"0000:41:00.7"});
    hypervisor.set_active("vm1", true);
    hypervisor.calls.clear();
    pass();
    EXPECT_THAT(hypervisor.calls, IsEmpty());
}

TEST_F(Rebind, LeavesADomainWithoutARequestAlone) {
    hypervisor.add("theirs", vm1, "", {vf4});
    leave_claim(vf4, ClaimState::draining, vm2);
    hypervisor.calls.clear();
    pass();
    EXPECT_THAT(hypervisor.calls, IsEmpty());
}

TEST_F(Rebind, SaysWhichDomainCouldNotStartNow) {
    hypervisor.add("vm2", vm2, profile_4q, {vf4});
    hypervisor.set_active("vm2", true);
    leave_claim(vf4, ClaimState::configured, vm2);
    host.configuration.gpus.ignored = {PciAddress::parse(vf5).value()};
    hypervisor.add("vm1", vm1, profile_4q, {vf4});
    EXPECT_THAT(pass().problems, Contains(HasSubstr("domain vm1 could not start now")));
    EXPECT_EQ(hypervisor.device_of("vm1"), vf4);
}

TEST_F(Rebind, IsLeftOutWhenItIsSwitchedOff) {
    rebind = false;
    hypervisor.add("vm1", vm1, profile_4q, {"0000:41:00.7"});
    EXPECT_THAT(actions(), IsEmpty());
    EXPECT_EQ(hypervisor.device_of("vm1"), "0000:41:00.7");
}

TEST_F(Rebind, KeepsTheUuidOfAnMdevThatIsMadeAtStart) {
    constexpr const char* mdev = "2f6c1f0a-52c1-4b8e-9d0b-6f3c6f0a7e11";
    hypervisor.add("vm1", vm1, profile_4q, {mdev});
    EXPECT_THAT(actions(), IsEmpty());
    EXPECT_EQ(hypervisor.device_of("vm1"), mdev);
}

} // namespace vgpu
