#include "tests/unit/lifecycle/lifecycle_fixture.hpp"

#include <gmock/gmock.h>

namespace vgpu {

namespace {

using test::profile_4q;
using test::vf4;
using test::vf5;
using test::vm1;
using test::vm2;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

class Start : public test::Living {};

} // namespace

TEST_F(Start, ClaimsAndConfiguresTheDevice) {
    hypervisor.add("vm1", vm1, profile_4q, {vf4});
    const auto started = lifecycle.start("vm1", soon());
    ASSERT_TRUE(started) << started.error().text();
    EXPECT_EQ(started->state, "running");
    ASSERT_TRUE(claim(vf4));
    EXPECT_EQ(claim(vf4)->state, ClaimState::configured);
}

TEST_F(Start, OfARunningDomainChangesNothing) {
    hypervisor.add("vm1", vm1, profile_4q, {vf4});
    ASSERT_TRUE(lifecycle.start("vm1", soon()));
    const auto incarnation = claim(vf4)->incarnation;
    ASSERT_TRUE(lifecycle.start(vm1, soon()));
    EXPECT_EQ(claim(vf4)->incarnation, incarnation);
}

TEST_F(Start, HoldsAReservationWhileLibvirtStarts) {
    hypervisor.add("vm1", vm1, profile_4q, {vf4});
    hook_installed = false;
    bool reserved = false;
    hypervisor.on_start = [&](const DomainInfo&) -> Result<void> {
        reserved = claim(vf4) && claim(vf4)->state == ClaimState::claimed;
        return fail(ErrorCode::io, "no");
    };
    EXPECT_FALSE(lifecycle.start("vm1", soon()));
    EXPECT_TRUE(reserved);
    EXPECT_FALSE(claim(vf4));
}

TEST_F(Start, MovesToAFreeDeviceWhenAnotherDomainHasItsOwn) {
    hypervisor.add("vm1", vm1, profile_4q, {vf4});
    leave_claim(vf4, ClaimState::configured, vm2);
    const auto started = lifecycle.start("vm1", soon());
    ASSERT_TRUE(started) << started.error().text();
    EXPECT_EQ(hypervisor.device_of("vm1"), vf5);
    EXPECT_EQ(claim(vf4)->domain_uuid.to_string(), vm2);
}

TEST_F(Start, EndsAStaleClaimOfItsOwnFirst) {
    hypervisor.add("vm1", vm1, profile_4q, {vf4});
    const auto stale = leave_claim(vf4, ClaimState::configured);
    const auto started = lifecycle.start("vm1", soon());
    ASSERT_TRUE(started) << started.error().text();
    EXPECT_NE(claim(vf4)->incarnation, stale.incarnation);
}

TEST_F(Start, IsRefusedWhileAnEarlierQemuOfItLives) {
    hypervisor.add("vm1", vm1, profile_4q, {vf4});
    leave_claim(vf4, ClaimState::configured);
    run_qemu(4242, vm1, vf4);
    const auto refused = lifecycle.start("vm1", soon());
    ASSERT_FALSE(refused);
    EXPECT_EQ(host.simulator.type(vf4), 1150U);
    EXPECT_EQ(host.simulator.counter("writes_while_open"), 0U);
    ASSERT_TRUE(claim(vf4));
}

TEST_F(Start, SaysSoWhenLibvirtDoesNotCallTheHook) {
    hypervisor.add("vm1", vm1, profile_4q, {vf4});
    hook_installed = false;
    const auto started = lifecycle.start("vm1", soon());
    ASSERT_FALSE(started);
    EXPECT_THAT(started.error().text(), HasSubstr("without calling the hook"));
    ASSERT_TRUE(claim(vf4)); // the running domain's device is protected all the same
    EXPECT_EQ(claim(vf4)->domain_uuid.to_string(), vm1);
}

TEST_F(Start, RefusesADomainThatAskedForNothing) {
    hypervisor.add("theirs", vm1, "", {vf4});
    const auto refused = lifecycle.start("theirs", soon());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), ErrorCode::denied);
    EXPECT_THAT(hypervisor.calls, Not(Contains("start theirs")));
}

TEST_F(Start, SaysThatThereIsNoSuchDomain) {
    const auto refused = lifecycle.start("nobody", soon());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), ErrorCode::not_found);
}

TEST_F(Start, WaitsForNobodyWhenLibvirtDoesNotAnswer) {
    hypervisor.broken = Error(ErrorCode::timeout, "libvirt does not answer");
    const auto refused = lifecycle.start("vm1", soon());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), ErrorCode::timeout);
}

} // namespace vgpu
