// A driver that refuses, lies, is slow or does not come back.
#include "tests/hook/hook_process.hpp"

#include <fmt/format.h>

namespace vgpu::test {

using ::testing::HasSubstr;

class Driver : public HookTest {};

TEST_F(Driver, EveryErrnoOfATypeWriteIsARefusalThatLeavesTheDeviceFree) {
    for (const char* errno_name :
         {"EIO", "EPERM", "EBUSY", "EINVAL", "ENODEV", "ENOSPC", "ENOMEM", "EAGAIN", "ENXIO"}) {
        sim.control(fmt::format("fault {} current_vgpu_type write-other {} 1", vf0, errno_name));
        const HookEnd end = prepare("vm1", xml_a());
        EXPECT_EQ(end.status, 1) << errno_name;
        EXPECT_THAT(end.message, HasSubstr(vf0));
        expect_all_free();
        EXPECT_EQ(prepare("vm1", xml_a()).status, 0) << errno_name << " was for once";
        ASSERT_EQ(release("vm1", xml_a()).status, 0);
    }
}

// What is written is believed only when it reads back, at configure and at reset.
TEST_F(Driver, AReadBackOfAnotherTypeIsARefusalAndIsNotTakenForAReset) {
    config = write_config("[hook]\ndeadline = \"500ms\"\n");
    sim.control(fmt::format("lie {} 1149 always", vf0));
    EXPECT_EQ(prepare("vm1", xml_a()).status, 1);
    EXPECT_EQ(claimed(vf0).state, ClaimState::draining) << "its reset could not be proven";
    sim.control(fmt::format("lie {} 0 0", vf0));
    config = write_config();
    EXPECT_EQ(prepare("vm1", xml_a()).status, 0);
    EXPECT_EQ(sim.type(vf0), type_4q);
}

TEST_F(Driver, ATypeThatCannotBeReadRefusesThatDeviceOnly) { // I7; hypeman 3.1
    sim.control(fmt::format("shape {} current_vgpu_type directory", vf0));
    EXPECT_EQ(prepare("vm1", xml_a()).status, 1);
    EXPECT_EQ(prepare("vm2", xml_b(vf1)).status, 0);
}

TEST_F(Driver, AMalformedCatalogueRefusesThatDeviceOnly) { // hypeman 3.1
    sim.control(
        fmt::format("content {} creatable_vgpu_types \"ID    : vGPU Name\\nnonsense\\n\"", vf0));
    const HookEnd end = prepare("vm1", xml_a());
    EXPECT_EQ(end.status, 1);
    EXPECT_THAT(end.message, HasSubstr("nonsense"));
    EXPECT_EQ(claim(vf0), std::nullopt);
    EXPECT_EQ(prepare("vm2", xml_b(vf1)).status, 0);
}

// I10; hypeman 3.1: what cannot be looked at is not taken for a device of another kind
TEST_F(Driver, AVfWhoseFrameworkCannotBeToldIsRefusedWithTheReason) {
    sim.control(fmt::format("fault {} current_vgpu_type stat EIO always", vf0));
    const HookEnd end = prepare("vm1", xml_a());
    EXPECT_EQ(end.status, 1);
    EXPECT_THAT(end.message, HasSubstr("Input/output error"));
    EXPECT_EQ(claim(vf0), std::nullopt);
    EXPECT_EQ(prepare("vm2", xml_b(vf1)).status, 0);
}

TEST_F(Driver, ADriverThatIsNotBoundIsSaid) { // bug report D18
    sim.control(fmt::format("unbind {}", vf0));
    const HookEnd end = prepare("vm1", xml_a());
    EXPECT_EQ(end.status, 1);
    EXPECT_THAT(end.message, HasSubstr("bound driver: none"));
}

// I8: blocked in the driver beyond the deadline. The claim says draining; the next run finishes it
// once the driver is back.
TEST_F(Driver, AWriteThatDoesNotComeBackEndsTheHookAtItsDeadline) {
    config = write_config("[hook]\ndeadline = \"500ms\"\n");
    sim.control(fmt::format("block {}", vf0));
    const HookEnd end = prepare("vm1", xml_a());
    EXPECT_EQ(end.status, 1);
    EXPECT_THAT(end.message, HasSubstr("not come back in time"));
    ASSERT_TRUE(claim(vf0));
    EXPECT_EQ(claimed(vf0).state, ClaimState::draining);
    EXPECT_EQ(prepare("vm2", xml_b(vf1)).status, 0) << "another device is not affected";
    sim.control(fmt::format("unblock {}", vf0));
    config = write_config();
    EXPECT_EQ(prepare("vm1", xml_a()).status, 0);
    EXPECT_EQ(claimed(vf0).state, ClaimState::configured);
}

TEST_F(Driver, AStuckDeviceDoesNotTakeTheDomainsOtherDevicesAlong) { // I7
    const std::string both = domain_xml(
        "vm1", uuid_a,
        {{"vgpu0", profile, vf0, "", "", false}, {"vgpu1", profile, vf1, "", "", false}});
    config = write_config("[hook]\ndeadline = \"6s\"\n");
    sim.control(fmt::format("block {} hard", vf1));
    EXPECT_EQ(prepare("vm1", both).status, 1);
    config = write_config();
    EXPECT_EQ(prepare("vm2", xml_b()).status, 0)
        << "the other one was wiped and its lock given back";
    EXPECT_EQ(release("vm2", xml_b()).status, 0);
    sim.control(fmt::format("unblock {}", vf1));
    EXPECT_EQ(release("vm1", both).status, 0);
    expect_all_free();
}

TEST_F(Driver, AStuckDeviceDoesNotKeepTheOthersFromBeingReleased) { // I7
    const std::string both = domain_xml(
        "vm1", uuid_a,
        {{"vgpu0", profile, vf0, "", "", false}, {"vgpu1", profile, vf1, "", "", false}});
    ASSERT_EQ(prepare("vm1", both).status, 0);
    config = write_config("[hook]\nrelease_budget = \"4s\"\n");
    sim.control(fmt::format("block {} hard", vf0));
    EXPECT_EQ(release("vm1", both).status, 0);
    EXPECT_FALSE(claim(vf1));
    EXPECT_EQ(claimed(vf0).state, ClaimState::draining);
    sim.control(fmt::format("unblock {}", vf0));
    config = write_config();
    EXPECT_EQ(release("vm1", both).status, 0);
    expect_all_free();
}

// The process that is stuck keeps the device's lock: nobody writes to a device under somebody's
// pending write.
TEST_F(Driver, ADeviceWithAPendingWriteStaysLocked) {
    config = write_config("[hook]\ndeadline = \"500ms\"\n");
    sim.control(fmt::format("block {} hard", vf0));
    ASSERT_EQ(prepare("vm1", xml_a()).status, 1);
    const HookEnd end = prepare("vm2", xml_b());
    EXPECT_EQ(end.status, 1);
    EXPECT_THAT(end.message, HasSubstr("is busy"));
    sim.control(fmt::format("unblock {}", vf0));
    config = write_config();
    EXPECT_EQ(prepare("vm2", xml_b()).status, 0);
    EXPECT_EQ(claimed(vf0).domain_name, "vm2");
    EXPECT_EQ(sim.type(vf0), type_4q);
}

class MigDriver : public HookTest {
public:
    MigDriver()
        : HookTest({.gpus = 0,
                    .vfs = 0,
                    .arguments = {},
                    .config = "gpu 0000:41:00.0 model=H200X vfs=8 mig=on\n"}) {}
};

// bug reports D35, D50
TEST_F(MigDriver, AnEmptyCatalogueNamesTheReason) {
    const HookEnd end = prepare("vm1", xml_a(vf0, "NVIDIA H200X-1-18C"));
    EXPECT_EQ(end.status, 1);
    EXPECT_THAT(end.message, HasSubstr("GPU instance"));
    expect_all_free();
}

class WideAddress : public HookTest {
public:
    WideAddress()
        : HookTest({.gpus = 0,
                    .vfs = 0,
                    .arguments = {},
                    .config = "gpu 0001:c8:00.0 model=RTX-PRO-6000 vfs=4\ngpu 10000:e1:00.0 "
                              "vfs=4\ngpu 0000:c8:00.0 model=RTX-PRO-6000 vfs=4\n"}) {}
};

// bug reports D1, D2, D3: PCI domains other than 0000 are ordinary
TEST_F(WideAddress, KeepsThePciDomainOfADevice) {
    ASSERT_EQ(prepare("vm1", xml_a("0001:c8:00.2", "NVIDIA RTX Pro 6000 Blackwell DC-3Q")).status,
              0);
    EXPECT_EQ(sim.type("0001:c8:00.2"), 1519U);
    EXPECT_EQ(sim.type("0000:c8:00.2"), 0U) << "the decoy";
    EXPECT_EQ(claimed("0001:c8:00.2").gpu->to_string(), "0001:c8:00.0");
    ASSERT_EQ(prepare("vm2", xml_b("10000:e1:00.4")).status, 0);
    EXPECT_EQ(claimed("10000:e1:00.4").gpu->to_string(), "10000:e1:00.0");
}

} // namespace vgpu::test
