#include "tests/hook/hook_process.hpp"

namespace vgpu::test {

using ::testing::IsEmpty;

class Release : public HookTest {
public:
    void SetUp() override { ASSERT_EQ(prepare("vm1", xml_a()).status, 0); }
};

// I3: the device reads 0 before the claim goes
TEST_F(Release, WipesTheDeviceAndFreesIt) {
    EXPECT_EQ(release("vm1", xml_a()).status, 0);
    expect_all_free();
}

// facts libvirt R4, 1.5: stopped can come twice, release can be repeated
TEST_F(Release, CanBeRepeated) {
    EXPECT_EQ(release("vm1", xml_a()).status, 0);
    EXPECT_EQ(release("vm1", xml_a()).status, 0);
    expect_all_free();
    EXPECT_EQ(sim.counter(std::string(vf0) + ".resets"), 1U);
}

// facts libvirt R5: also run for a domain whose own prepare was refused
TEST_F(Release, OfADomainThatWasRefusedLeavesTheOwnerAlone) {
    ASSERT_EQ(prepare("vm2", xml_b()).status, 1);
    EXPECT_EQ(release("vm2", xml_b()).status, 0);
    EXPECT_EQ(claimed(vf0).domain_name, "vm1");
    EXPECT_EQ(sim.type(vf0), type_4q);
    EXPECT_EQ(sim.counter(std::string(vf0) + ".resets"), 0U);
}

// design: works from the claims of the UUID, whatever the XML names now
TEST_F(Release, FreesWhatTheXmlNoLongerNames) {
    EXPECT_EQ(release("vm1", xml_a(vf1)).status, 0);
    expect_all_free();
}

// facts libvirt R9: names are reused and renamed
TEST_F(Release, GoesByTheUuidNotByTheName) {
    const std::string renamed =
        domain_xml("new-name", uuid_a, {{"vgpu0", profile, vf0, "", "", false}});
    EXPECT_EQ(release("new-name", renamed).status, 0);
    expect_all_free();
}

TEST_F(Release, IgnoresAReservationOfTheDaemon) {
    edit_claim(vf0, [](Claim& c) { c.state = ClaimState::claimed; });
    EXPECT_EQ(release("vm1", xml_a()).status, 0);
    EXPECT_EQ(claimed(vf0).state, ClaimState::claimed);
    EXPECT_EQ(sim.type(vf0), type_4q) << "hardware is never touched under a reservation";
}

// bug report D61: EPERM right after a VM's end passes
TEST_F(Release, RetriesAResetThatIsRefusedForAMoment) {
    sim.control(std::string("fault ") + vf0 + " current_vgpu_type write-zero EPERM 3");
    EXPECT_EQ(release("vm1", xml_a()).status, 0);
    expect_all_free();
}

// pve 48ada698: the write succeeds and has no effect
TEST_F(Release, RetriesAResetWithoutEffect) {
    sim.control(std::string("ignore-resets ") + vf0 + " 3");
    EXPECT_EQ(release("vm1", xml_a()).status, 0);
    expect_all_free();
}

// I3; hypeman 3.3: release whose reset fails keeps the claim
TEST_F(Release, KeepsTheClaimOfADeviceThatRefusesItsReset) {
    sim.control(std::string("fault ") + vf0 + " current_vgpu_type write-zero EIO always");
    EXPECT_EQ(release("vm1", xml_a()).status, 0) << "a release never fails";
    EXPECT_EQ(claimed(vf0).state, ClaimState::draining);
    EXPECT_EQ(sim.type(vf0), type_4q);
    ASSERT_EQ(prepare("vm2", xml_b()).status, 1) << "nobody else gets it";
    sim.control("faults-clear");
    EXPECT_EQ(prepare("vm2", xml_b()).status, 0) << "the next allocation finishes it";
    EXPECT_EQ(claimed(vf0).domain_name, "vm2");
}

TEST_F(Release,
       StaysWithinItsBudget) { // crash clean-up of the whole host runs in one libvirt thread
    config = write_config("[hook]\nrelease_budget = \"300ms\"\n");
    sim.control(std::string("ignore-resets ") + vf0 + " always");
    EXPECT_EQ(release("vm1", xml_a()).status, 0);
    EXPECT_EQ(claimed(vf0).state, ClaimState::draining);
}

// I8: a driver write that does not come back. The hook ends, the device stays locked until the
// driver lets go.
TEST_F(Release, EndsInTimeWhenTheDriverDoesNotComeBack) {
    config = write_config("[hook]\nrelease_budget = \"300ms\"\ndeadline = \"500ms\"\n");
    sim.control(std::string("block ") + vf0);
    EXPECT_EQ(release("vm1", xml_a()).status, 0);
    EXPECT_EQ(claimed(vf0).state, ClaimState::draining);
    sim.control(std::string("unblock ") + vf0);
    EXPECT_EQ(release("vm1", xml_a()).status, 0);
    expect_all_free();
}

// bug report D79
TEST_F(Release, AfterMigrationFreesTheSource) {
    EXPECT_EQ(hook("vm1", "release", "end", xml_a(), "migrated").status, 0);
    expect_all_free();
}

// A VF that went away carries nothing: its claim must not stay for ever.
TEST_F(Release, FreesTheClaimOfAVfThatIsGone) {
    sim.control("sriov 0000:41:00.0 off force");
    EXPECT_EQ(release("vm1", xml_a()).status, 0);
    EXPECT_THAT(claim_files(), IsEmpty());
}

// bug report D62: a late second release, when the VF is another domain's by then
TEST_F(Release, ThatComesAgainLeavesTheNextOwnerAlone) {
    ASSERT_EQ(release("vm1", xml_a()).status, 0);
    ASSERT_EQ(prepare("vm2", xml_b()).status, 0);
    EXPECT_EQ(release("vm1", xml_a()).status, 0);
    ASSERT_TRUE(claim(vf0));
    EXPECT_EQ(claimed(vf0).domain_name, "vm2");
    EXPECT_EQ(claimed(vf0).state, ClaimState::configured);
    EXPECT_EQ(sim.type(vf0), type_4q);
    EXPECT_EQ(sim.counter(std::string(vf0) + ".resets"), 1U) << "that of the first release";
}

} // namespace vgpu::test
