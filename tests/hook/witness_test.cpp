// I4: no reset under a VMM that lives, nor under one that may. Each witness alone is enough.
#include "tests/hook/hook_process.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

namespace vgpu::test {

using ::testing::HasSubstr;

class Witness : public HookTest {
public:
    void SetUp() override { ASSERT_EQ(prepare("vm1", xml_a()).status, 0); }

    /// The release leaves the device alone, and so does a new start of the domain and one of
    /// another domain.
    void expect_nobody_touches_it() {
        EXPECT_EQ(release("vm1", xml_a()).status, 0);
        const auto kept = claim(vf0);
        ASSERT_TRUE(kept);
        EXPECT_EQ(kept->state, ClaimState::draining);
        EXPECT_EQ(sim.type(vf0), type_4q);
        EXPECT_EQ(prepare("vm1", xml_a()).status, 1);
        EXPECT_EQ(prepare("vm2", xml_b()).status, 1);
        EXPECT_EQ(claim(vf0), kept);
        EXPECT_EQ(sim.type(vf0), type_4q);
        EXPECT_EQ(sim.counter(std::string(vf0) + ".resets"), 0U);
        EXPECT_EQ(sim.counter("writes_while_open"), 0U);
    }
    void expect_it_is_freed() {
        EXPECT_EQ(release("vm1", xml_a()).status, 0);
        expect_all_free();
    }
};

TEST_F(Witness, AnOpenGroupNode) {
    const int fd = ::open(sim.group_node(vf0).c_str(), O_RDWR | O_CLOEXEC);
    ASSERT_GE(fd, 0);
    expect_nobody_touches_it();
    ::close(fd);
    expect_it_is_freed();
}

TEST_F(Witness, AProcessWithTheGroupNodeOpen) {
    sim.control("process-add 4242 comm=qemu-system-x86");
    sim.control(std::string("process-fd 4242 20 group:") + vf0);
    expect_nobody_touches_it();
    sim.control("process-remove 4242");
    expect_it_is_freed();
}

TEST_F(Witness, AProcessWithTheCdevOpen) { // iommufd: the group node is not held
    sim.control("process-add 4242 comm=qemu-system-x86");
    sim.control(std::string("process-fd 4242 20 cdev:") + vf0);
    expect_nobody_touches_it();
}

TEST_F(Witness, AnOpenNodeThatWasDeletedSince) { // hypeman 1.3, blind spot
    sim.control("process-add 4242 comm=qemu-system-x86");
    sim.control(std::string("process-fd 4242 20 \"cdev:") + vf0 + " (deleted)\"");
    expect_nobody_touches_it();
}

TEST_F(Witness, AThreadOfAZombieLeader) { // hypeman 3.4: a vhost worker still closes VFIO
    sim.control("process-add 4242 comm=qemu-system-x86 state=Z");
    sim.control("process-thread 4242 4243 comm=vhost-4242");
    sim.control(std::string("process-fd 4242 20 cdev:") + vf0);
    expect_nobody_touches_it();
}

TEST_F(Witness,
       AVmmThatHasNotOpenedTheDeviceYet) { // found by the model: only its command line shows it
    sim.control(fmt::format(
        "process-add 4242 comm=qemu-system-x86 "
        "cmdline=/usr/bin/qemu-system-x86_64\\0-name\\0guest=vm1\\0-uuid\\0{}\\0-m\\01024",
        uuid_a));
    expect_nobody_touches_it();
    sim.control("process-remove 4242");
    expect_it_is_freed();
}

TEST_F(Witness, TheRecordedVmm) {
    sim.control("process-add 4242 comm=qemu-system-x86 start=777");
    edit_claim(vf0, [](Claim& c) { c.vmm = Vmm{4242, 777}; });
    expect_nobody_touches_it();
    sim.control("process-remove 4242");
    expect_it_is_freed();
}

// hypeman 3.4: the leader has ended, a thread still runs; no device of it is open any more
TEST_F(Witness, TheRecordedVmmWhoseLeaderEndedBeforeAThread) {
    sim.control("process-add 4242 comm=qemu-system-x86 start=777 state=Z");
    sim.control("process-thread 4242 4243 comm=vhost-4242");
    edit_claim(vf0, [](Claim& c) { c.vmm = Vmm{4242, 777}; });
    expect_nobody_touches_it();
    sim.control("process-remove 4242");
    expect_it_is_freed();
}

// hypeman 3.4: the recorded number is a stranger's by now, the domain has another process
TEST_F(Witness, AVmmBesideARecycledPid) {
    sim.control("process-add 4242 comm=bash start=778");
    sim.control(fmt::format("process-add 4243 comm=qemu-system-x86 "
                            "cmdline=/usr/bin/qemu-system-x86_64\\0-uuid\\0{}",
                            uuid_a));
    edit_claim(vf0, [](Claim& c) { c.vmm = Vmm{4242, 777}; });
    expect_nobody_touches_it();
    sim.control("process-remove 4243");
    expect_it_is_freed();
}

// hypeman 3.4: process numbers and start times say nothing across boots
TEST_F(Witness, ARecordedVmmOfAnotherBootIsNoVmm) {
    sim.control("process-add 4242 comm=bash start=777");
    edit_claim(vf0, [](Claim& c) {
        c.vmm = Vmm{4242, 777};
        c.boot_id = "an earlier boot";
    });
    expect_it_is_freed();
}

TEST_F(Witness, ARecycledPidIsNoVmm) { // hypeman 3.4: start time + 1 is dead
    sim.control("process-add 4242 comm=bash start=778");
    edit_claim(vf0, [](Claim& c) { c.vmm = Vmm{4242, 777}; });
    expect_it_is_freed();
}

TEST_F(Witness, AZombieWhoseThreadsEndedIsNoVmm) { // libvirt facts 6.6
    sim.control("process-add 4242 comm=qemu-system-x86 start=777 state=Z");
    edit_claim(vf0, [](Claim& c) { c.vmm = Vmm{4242, 777}; });
    expect_it_is_freed();
}

TEST_F(Witness, ThePidFileThatAVmmHoldsLocked) {
    {
        const PlayedVmm vmm = play_vmm("vm1");
        expect_nobody_touches_it();
    }
    expect_it_is_freed();
}

// I10: what could not be looked at is not absent
TEST_F(Witness, AProcessThatCannotBeLookedAt) {
    sim.control("process-add 4242 comm=secret");
    sim.control("fault 4242/fd readdir EACCES always");
    expect_nobody_touches_it();
    sim.control("faults-clear");
    expect_it_is_freed();
}

TEST_F(Witness, AnOpenFileThatIsNoLink) { // hypeman 3.1: the scan fails, naming pid and fd
    sim.control("process-add 123 comm=odd");
    sim.control("process-fd 123 5 file");
    EXPECT_EQ(release("vm1", xml_a()).status, 0);
    EXPECT_EQ(claimed(vf0).state, ClaimState::draining);
    EXPECT_THAT(prepare("vm1", xml_a()).message, HasSubstr("/123/fd/5"));
}

TEST_F(Witness, AProcThatIsEmpty) { // a /proc that is not mounted proves nothing
    const std::string empty = sim.directory() + "/empty-proc";
    write_file(empty + "/sys/kernel/random/boot_id", "another\n");
    edit_claim(vf0, [](Claim& c) { c.boot_id = "another"; });
    config = write_config("", empty);
    expect_nobody_touches_it();
}

TEST_F(Witness, AProcessThatVanishesMeanwhileIsGone) {
    sim.control("process-add 4242 comm=short");
    sim.control(std::string("process-fd 4242 20 group:") + vf1);
    sim.control("process-vanish 4242 1");
    expect_it_is_freed();
}

TEST_F(
    Witness,
    AnAdversaryThatNamesTheDomainElsewhereDoesNotBlockIt) { // hypeman #417: a debug client's argv
    sim.control(fmt::format(
        "process-add 4242 comm=grep cmdline=grep\\0{}\\0/var/log/libvirt/qemu/vm1.log", uuid_a));
    expect_it_is_freed();
}

TEST_F(Witness, AnEmptySysfsIsNoProofThatADeviceIsGone) { // I10
    const std::string empty = sim.directory() + "/empty-sys";
    std::filesystem::create_directories(empty + "/bus/pci/devices");
    config = config_with_root("sysfs", empty);
    EXPECT_EQ(release("vm1", xml_a()).status, 0);
    EXPECT_TRUE(claim(vf0)) << "an empty list of devices";
    config = config_with_root("sysfs", empty + "/nothing");
    EXPECT_EQ(release("vm1", xml_a()).status, 0);
    EXPECT_TRUE(claim(vf0)) << "no list at all";
    config = write_config();
    expect_it_is_freed();
}

TEST_F(Witness, ADevRootThatIsNotThereHidesEveryHolder) { // I10
    sim.control("process-add 4242 comm=vmm");
    sim.control(std::string("process-fd 4242 20 cdev:") + vf0);
    config = config_with_root("dev", "/nonexistent");
    expect_nobody_touches_it();
    config = write_config();
    sim.control("process-remove 4242");
    expect_it_is_freed();
}

TEST_F(Witness,
       SomebodyWhoOpensTheDeviceWhileAStartFails) { // the undo looks as closely as a release does
    ASSERT_EQ(release("vm1", xml_a()).status, 0);
    sim.control("fault vgpu_params write EINVAL always");
    sim.control(std::string("block ") + vf0);
    HookProcess start(config, {"vm1", "prepare", "begin", "-"},
                      domain_xml("vm1", uuid_a, {{"vgpu0", profile, vf0, "", "x=1", false}}));
    while (!claim(vf0)) {
        std::this_thread::yield();
    }
    sim.control("process-add 4242 comm=vmm");
    sim.control(std::string("process-fd 4242 20 cdev:") + vf0);
    const auto resets = sim.counter(std::string(vf0) + ".resets");
    sim.control(std::string("unblock ") + vf0);
    EXPECT_EQ(start.wait().status, 1);
    EXPECT_EQ(sim.counter(std::string(vf0) + ".resets"), resets);
    EXPECT_EQ(claimed(vf0).state, ClaimState::draining);
    sim.control("process-remove 4242");
    EXPECT_EQ(release("vm1", xml_a()).status, 0);
}

TEST_F(Witness, AVmmOfADomainWhoseDeviceIsReserved) { // an own claim in any state
    edit_claim(vf0, [](Claim& c) { c.state = ClaimState::claimed; });
    sim.control(std::string("process-add 4242 cmdline=\"qemu -uuid ") + uuid_a + "\"");
    EXPECT_EQ(prepare("vm1", xml_a()).status, 1);
    sim.control("process-remove 4242");
    EXPECT_EQ(prepare("vm1", xml_a()).status, 0);
}

} // namespace vgpu::test
