// Domains and devices that are not ours: shown, protected, never written to (I6).
#include "tests/hook/hook_process.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace vgpu::test {

using ::testing::HasSubstr;

class Foreign : public HookTest {
public:
    static std::string foreign_xml(const std::string& device = vf0) {
        return domain_xml("theirs", uuid_b, {{"", "", device, "", "", false}});
    }
};

TEST_F(Foreign, ADomainThatAskedForNothingIsProtectedAndNeverWrittenTo) {
    sim.control(std::string("set-type ") + vf0 + " 1159");
    EXPECT_EQ(prepare("theirs", foreign_xml()).status, 0);
    const auto made = claim(vf0);
    ASSERT_TRUE(made);
    EXPECT_FALSE(made->managed);
    EXPECT_EQ(prepare("vm1", xml_a()).status, 1) << "its device goes to nobody else";
    EXPECT_EQ(release("theirs", foreign_xml()).status, 0);
    EXPECT_EQ(claim(vf0), std::nullopt) << "forgotten at stop";
    EXPECT_EQ(sim.type(vf0), 1159U);
    EXPECT_EQ(sim.counter(std::string(vf0) + ".resets"), 0U);
}

TEST_F(Foreign, ADomainIsRefusedADeviceThatOneOfOursHas) {
    ASSERT_EQ(prepare("vm1", xml_a()).status, 0);
    const HookEnd end = prepare("theirs", foreign_xml());
    EXPECT_EQ(end.status, 1);
    EXPECT_THAT(end.message, HasSubstr("vm1"));
    EXPECT_EQ(claimed(vf0).domain_name, "vm1");
}

TEST_F(Foreign, ADomainStartsEvenIfItCannotBeProtected) {
    write_file(sim.state() + "/claims", "a file where the directory should be");
    EXPECT_EQ(prepare("theirs", foreign_xml()).status, 0);
    EXPECT_EQ(prepare("vm1", xml_a()).status, 1) << "ours is not started without its claim";
}

TEST_F(Foreign, AReconnectedDomainIsRecordedAsForeign) {
    EXPECT_EQ(hook("theirs", "reconnect", "begin", foreign_xml()).status, 0);
    ASSERT_TRUE(claim(vf0));
    EXPECT_FALSE(claimed(vf0).managed);
}

TEST_F(Foreign, ANetworkCardIsNobodysBusiness) {
    sim.control("other 0000:50:00.0 vendor=0x15b3 device=0x1018 class=0x020000 driver=mlx5_core");
    EXPECT_EQ(
        prepare("theirs", domain_xml("theirs", uuid_b, {{"", "", "0000:50:00.0", "", "", true}}))
            .status,
        0);
    EXPECT_TRUE(claim_files().empty());
}

TEST_F(Foreign, ADeviceThatCannotBeLookedAtIsNotTakenForANetworkCard) { // I10
    sim.control(std::string("fault ") + vf0 + " current_vgpu_type stat EIO always");
    const HookEnd managed =
        prepare("theirs", domain_xml("theirs", uuid_b, {{"", "", vf0, "", "", true}}));
    EXPECT_EQ(managed.status, 1) << "libvirt would unbind it";
    EXPECT_THAT(managed.message, HasSubstr("Input/output error"));
    sim.control("faults-clear");
    ASSERT_EQ(prepare("vm1", xml_a()).status, 0);
    sim.control(std::string("fault ") + vf0 + " current_vgpu_type stat EIO always");
    EXPECT_EQ(
        prepare("theirs", domain_xml("theirs", uuid_b, {{"", "", vf0, "", "", false}})).status, 1)
        << "it is claimed, whatever it is";
}

TEST_F(Foreign, ADomainIsRefusedAClaimedDeviceWhoseLockIsBusy) { // I1: the lock may be busy for as
                                                                 // long as the driver is
    ASSERT_EQ(prepare("vm1", xml_a()).status, 0);
    config = write_config("[hook]\ndeadline = \"300ms\"\n");
    const std::string lock = sim.runtime() + "/devices/pci-" + vf0 + ".lock";
    const int fd = ::open(lock.c_str(), O_RDWR | O_CLOEXEC);
    ASSERT_EQ(::flock(fd, LOCK_EX), 0);
    EXPECT_EQ(prepare("theirs", foreign_xml()).status, 1);
    ::close(fd);
}

TEST_F(Foreign, ADomainIsRefusedADeviceThatCouldNotBeWiped) { // I3
    ASSERT_EQ(prepare("vm1", xml_a()).status, 0);
    sim.control(std::string("fault ") + vf0 + " current_vgpu_type write-zero EIO always");
    ASSERT_EQ(release("vm1", xml_a()).status, 0);
    EXPECT_EQ(prepare("theirs", foreign_xml()).status, 1);
    EXPECT_EQ(claimed(vf0).domain_name, "vm1");
}

TEST_F(Foreign, ADeviceWhoseRequestWasRemovedIsStillWiped) { // I3: the domain lost its release,
                                                             // then its request
    ASSERT_EQ(prepare("vm1", xml_a()).status, 0);
    const std::string without = domain_xml("vm1", uuid_a, {{"", "", vf0, "", "", false}});
    EXPECT_EQ(prepare("vm1", without).status, 0);
    EXPECT_EQ(sim.type(vf0), 0U);
    EXPECT_FALSE(claimed(vf0).managed);
    EXPECT_EQ(release("vm1", without).status, 0);
    expect_all_free();
}

TEST_F(Foreign, ADeviceThatIsNamedTwiceIsProtectedOnce) {
    const HookEnd end =
        prepare("theirs", domain_xml("theirs", uuid_b,
                                     {{"", "", vf0, "", "", false}, {"", "", vf0, "", "", false}}));
    EXPECT_EQ(end.status, 0) << end.message;
    EXPECT_FALSE(claimed(vf0).managed);
}

TEST_F(Foreign, ADeviceThatTheConfigurationTookAwayIsNotWrittenTo) { // I6
    ASSERT_EQ(prepare("vm1", xml_a()).status, 0);
    config = write_config(std::string("[gpus]\nignored = [\"") + vf0 + "\"]\n");
    EXPECT_EQ(release("vm1", xml_a()).status, 0);
    EXPECT_EQ(sim.type(vf0), type_4q);
    EXPECT_EQ(claimed(vf0).state, ClaimState::draining);
    config = write_config();
    EXPECT_EQ(release("vm1", xml_a()).status, 0);
    expect_all_free();
}

TEST_F(Foreign, ARunningDomainsDeviceThatHasNoClaimIsNotHandedOut) { // bug report D30
    sim.control(std::string("set-type ") + vf0 + " 1150");
    sim.control(std::string("hold ") + vf0);
    EXPECT_EQ(prepare("vm1", xml_a()).status, 1);
    EXPECT_EQ(sim.type(vf0), type_4q);
    EXPECT_EQ(sim.counter("writes_while_open"), 0U);
}

} // namespace vgpu::test
