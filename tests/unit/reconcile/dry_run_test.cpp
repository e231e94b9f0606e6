#include "agent/reconcile/instance_owner.hpp"
#include "tests/unit/reconcile/reconcile_fixture.hpp"

#include <gmock/gmock.h>

namespace vgpu {

namespace {

using test::profile_4q;
using test::vf4;
using test::vf5;
using test::vm1;
using test::vm2;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

class DryRun : public test::Reconciling {};

} // namespace

TEST_F(DryRun, NamesEveryActionAndChangesNothing) {
    leave_claim(vf4, ClaimState::configured, vm1);
    host.simulator.control("set-type 0000:41:00.5 1150");
    hypervisor.calls.clear();
    EXPECT_THAT(actions(true), UnorderedElementsAre(HasSubstr("reset and free 0000:41:00.4"),
                                                    HasSubstr("reset 0000:41:00.5")));
    EXPECT_TRUE(claim(vf4));
    EXPECT_EQ(claim(vf4)->state, ClaimState::configured);
    EXPECT_EQ(host.simulator.type(vf4), 1150U);
    EXPECT_EQ(host.simulator.type(vf5), 1150U);
    EXPECT_TRUE(hypervisor.calls.empty());
}

TEST_F(DryRun, NamesTheDeviceThatADomainWouldBePointedAtAndWritesNothing) {
    hypervisor.add("vm2", vm2, profile_4q, {"0000:41:00.7"});
    hypervisor.calls.clear();
    EXPECT_THAT(actions(true), UnorderedElementsAre(HasSubstr("point domain vm2 at")));
    EXPECT_TRUE(hypervisor.calls.empty());
    EXPECT_EQ(hypervisor.device_of("vm2"), "0000:41:00.7");
}

TEST_F(DryRun, SaysNothingOfAClaimWhoseVmmLives) {
    leave_claim(vf4, ClaimState::draining);
    run_qemu(4242, vm1, vf4);
    EXPECT_TRUE(pass(true).actions.empty());
}

TEST_F(DryRun, ReportsAsTextAndJson) {
    leave_claim(vf4, ClaimState::draining);
    const auto report = pass(true);
    EXPECT_THAT(report_text(report), HasSubstr("release: would reset and free 0000:41:00.4"));
    EXPECT_THAT(report_json(report), HasSubstr("\"stage\": \"release\""));
    EXPECT_EQ(report_text(ReconcileReport{}), "Nothing to do.\n");
}

TEST(InstanceOwner, IsOneProcessAtATime) {
    const test::TempDir directory;
    Config config;
    config.paths.runtime = directory / "runtime";
    auto first = become_instance_owner(config.paths);
    ASSERT_TRUE(first) << first.error().text();
    const auto second = become_instance_owner(config.paths);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code(), ErrorCode::busy);
}

} // namespace vgpu
