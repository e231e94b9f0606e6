#include "agent/core/availability.hpp"
#include "agent/core/inventory.hpp"
#include "agent/core/topology.hpp"
#include "tests/unit/cli/simulated_host.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace vgpu {

namespace {

using test::SimulatedHost;
using testing::HasSubstr;

constexpr const char* one_card = "gpu 0000:41:00.0 model=L40S vfs=4 numa=1\n";
constexpr const char* mdev_uuid = "2f6c1f0a-52c1-4b8e-9d0b-6f3c6f0a7e11";

std::vector<std::string> addresses(const Inventory& inventory) {
    std::vector<std::string> list;
    for (const GpuInfo& gpu : inventory.gpus) {
        list.push_back(gpu.address.to_string());
    }
    return list;
}

std::uint32_t available(const Inventory& inventory, const std::string& name) {
    for (const ProfileInfo& profile : profiles_of(inventory)) {
        if (profile.type.name == name) {
            return profile.available;
        }
    }
    return 0;
}

} // namespace

TEST(Inventory, DescribesAVendorVfioCard) {
    SimulatedHost host(one_card);
    const Inventory inventory = host.inventory();
    ASSERT_EQ(inventory.gpus.size(), 1U);
    const GpuInfo& gpu = inventory.gpus[0];
    EXPECT_EQ(gpu.name, "NVIDIA L40S");
    EXPECT_EQ(gpu.framework, FrameworkKind::vendor_vfio);
    EXPECT_EQ(gpu.driver, "nvidia");
    EXPECT_EQ(gpu.vfs, 4);
    EXPECT_GE(gpu.total_vfs, 4);
    EXPECT_EQ(gpu.framebuffer_mib, 49152U);
    EXPECT_EQ(gpu.numa_node, 1);
    EXPECT_EQ(gpu.allocated, 0);
    EXPECT_EQ(inventory.devices.size(), 4U);
}

// bug reports D1, D3: a second GPU at the same bus in another domain is another GPU
TEST(Inventory, KeepsPciDomainsApart) {
    SimulatedHost host("gpu 0000:41:00.0 vfs=1\ngpu 0001:41:00.0 vfs=1\n"
                       "set-type 0001:41:00.4 1150\n");
    const Inventory inventory = host.inventory();
    EXPECT_THAT(addresses(inventory), testing::ElementsAre("0000:41:00.0", "0001:41:00.0"));
    EXPECT_EQ(inventory.gpus[0].allocated, 0);
    EXPECT_EQ(inventory.gpus[1].allocated, 1);
}

// bug report D45
TEST(Inventory, TellsAddressPfNumaNodeGroupAndNodesOfAVf) {
    SimulatedHost host(one_card);
    host.simulator.control("iommufd on");
    const Inventory inventory = host.inventory();
    const DeviceInfo& device = SimulatedHost::row(inventory, "0000:41:00.4");
    EXPECT_EQ(device.gpu.to_string(), "0000:41:00.0");
    EXPECT_EQ(device.numa_node, 1);
    EXPECT_EQ(device.nodes.group, host.simulator.group_node("0000:41:00.4"));
    EXPECT_EQ(host.simulator.dev() + "/vfio/" + device.iommu_group(), device.nodes.group);
    EXPECT_EQ(device.cdev(), host.simulator.cdev_node("0000:41:00.4"));
}

TEST(Inventory, TakesTheNumaNodeOfTheCardForAVfThatKnowsNone) {
    SimulatedHost host("gpu 0000:41:00.0 vfs=1 numa=1 vf-numa=-1\n");
    EXPECT_EQ(SimulatedHost::row(host.inventory(), "0000:41:00.4").numa_node, 1);
}

// bug report D47
TEST(Inventory, CountsVfsAndVgpusApart) {
    SimulatedHost host("gpu 0001:c8:00.0 model=RTX-PRO-6000 vfs=48\n"
                       "set-type 0001:c8:00.2 1519\nset-type 0001:c8:00.3 1519\n");
    const Inventory inventory = host.inventory();
    EXPECT_EQ(inventory.gpus[0].vfs, 48);
    EXPECT_EQ(inventory.gpus[0].allocated, 2);
}

// bug report D26
TEST(Inventory, DecidesTheFrameworkPerGpu) {
    SimulatedHost host("gpu 0000:41:00.0 model=L40S vfs=1\ngpu 0000:03:00.0 model=A2 vfs=1\n"
                       "gpu 0000:04:00.0 model=T4\n");
    const Inventory inventory = host.inventory();
    EXPECT_EQ(inventory.gpu(*PciAddress::parse("0000:41:00.0"))->framework,
              FrameworkKind::vendor_vfio);
    EXPECT_EQ(inventory.gpu(*PciAddress::parse("0000:03:00.0"))->framework, FrameworkKind::mdev);
    EXPECT_EQ(inventory.gpu(*PciAddress::parse("0000:04:00.0"))->framework, FrameworkKind::mdev);
}

// hypeman 3.1: a driver that is registered for mdevs and makes none of them
TEST(Inventory, TakesAVfWithAnEmptyListOfMdevTypesForOneOfTheVendorsFramework) {
    const test::TempDir root;
    const std::string function = root / "bus/pci/devices/0000:41:00.4";
    test::write_file(function + "/nvidia/current_vgpu_type", "0\n");
    std::filesystem::create_directories(function + "/mdev_supported_types");
    PosixSysfs sysfs(root.path().string());
    EXPECT_EQ(framework_of(sysfs, PciAddress::parse("0000:41:00.4").value()).value(),
              FrameworkKind::vendor_vfio);
}

// bug reports D25, D32: the parents are the VFs of one card and the PF of the other
TEST(Inventory, ListsTheVfsOfACardWithSrIovAndThePfOfOneWithout) {
    SimulatedHost host("gpu 0000:03:00.0 model=A2 vfs=2\ngpu 0000:04:00.0 model=T4\n");
    const Inventory inventory = host.inventory();
    ASSERT_EQ(inventory.devices.size(), 3U);
    EXPECT_EQ(inventory.devices[0].function.to_string(), "0000:03:00.4");
    EXPECT_EQ(inventory.devices[1].function.to_string(), "0000:03:00.5");
    EXPECT_EQ(inventory.devices[2].function.to_string(), "0000:04:00.0");
}

// bug reports D18, D43
TEST(Inventory, SaysWhyAGpuMakesNoVgpus) {
    SimulatedHost host(
        "gpu 0000:41:00.0 vfs=0 total-vfs=32\ngpu 0000:42:00.0 vfs=0 driver=vfio-pci\n"
        "gpu 0000:43:00.0 vfs=0 driver=none\ngpu 0000:44:00.0 vfs=2 framework=none\n");
    const Inventory inventory = host.inventory();
    ASSERT_EQ(inventory.gpus.size(), 4U);
    EXPECT_THAT(inventory.gpus[0].reason, HasSubstr("SR-IOV is off"));
    EXPECT_THAT(inventory.gpus[1].reason, HasSubstr("vfio-pci"));
    EXPECT_THAT(inventory.gpus[2].reason, HasSubstr("no driver"));
    EXPECT_THAT(inventory.gpus[3].reason, HasSubstr("neither"));
    for (const GpuInfo& gpu : inventory.gpus) {
        EXPECT_FALSE(gpu.framework);
    }
}

TEST(Inventory, LeavesOutWhatIsNoNvidiaDisplayFunction) {
    SimulatedHost host("gpu 0000:41:00.0 vfs=1\nother 0000:41:00.1 vendor=0x10de class=0x040300\n"
                       "other 0000:05:00.0 vendor=0x8086 class=0x030000\n");
    EXPECT_THAT(addresses(host.inventory()), testing::ElementsAre("0000:41:00.0"));
}

// I7: one bad VF stays one bad VF
TEST(Inventory, ListsAVfThatCannotBeReadWithItsErrorAndTheOthersUnharmed) {
    SimulatedHost host(one_card);
    host.simulator.control("fault 0000:41:00.5 current_vgpu_type read EIO always");
    const Inventory inventory = host.inventory();
    const DeviceInfo& bad = SimulatedHost::row(inventory, "0000:41:00.5");
    EXPECT_THAT(bad.error, HasSubstr("Input/output error"));
    EXPECT_FALSE(bad.type_id);
    EXPECT_TRUE(bad.allocated()); // fails closed
    EXPECT_EQ(SimulatedHost::row(inventory, "0000:41:00.4").error, "");
    EXPECT_EQ(available(inventory, "NVIDIA L40S-4Q"), 3U);
}

TEST(Inventory, ListsABrokenCatalogueWithItsErrorAndTheOthersUnharmed) {
    SimulatedHost host(one_card);
    host.simulator.control("content 0000:41:00.5 creatable_vgpu_types \"no such form\"");
    const Inventory inventory = host.inventory();
    EXPECT_NE(SimulatedHost::row(inventory, "0000:41:00.5").error, "");
    EXPECT_EQ(inventory.gpus[0].framebuffer_mib, 49152U);
    EXPECT_EQ(available(inventory, "NVIDIA L40S-4Q"), 3U);
}

TEST(Inventory, ListsAGpuThatCannotBeLookedAtAsAProblem) {
    SimulatedHost host("gpu 0000:41:00.0 vfs=1\ngpu 0000:42:00.0 vfs=1\n");
    host.simulator.control("fault 0000:42:00.0 vendor read EIO always");
    const Inventory inventory = host.inventory();
    EXPECT_THAT(addresses(inventory), testing::ElementsAre("0000:41:00.0"));
    EXPECT_THAT(inventory.problems, testing::Contains(HasSubstr("0000:42:00.0")));
}

TEST(Inventory, NamesATypeThatTheDriverNoLongerListsFromTheMemory) {
    SimulatedHost host(one_card);
    CatalogueMemory memory;
    ASSERT_TRUE(take_inventory(host.host, memory));
    host.simulator.control("set-type 0000:41:00.4 1156"); // fills the card: all lists are empty
    const Inventory inventory = take_inventory(host.host, memory).value();
    EXPECT_EQ(SimulatedHost::row(inventory, "0000:41:00.4").profile, "NVIDIA L40S-48Q");
    EXPECT_EQ(SimulatedHost::row(host.inventory(), "0000:41:00.4").profile, "");
}

TEST(Inventory, TellsDirtyFromClaimed) {
    SimulatedHost host(one_card);
    host.simulator.control("set-type 0000:41:00.4 1150");
    host.simulator.control("set-type 0000:41:00.5 1150");
    host.store("0000:41:00.5", host.claim_on("0000:41:00.5", "NVIDIA L40S-4Q", 1150));
    const Inventory inventory = host.inventory();
    EXPECT_TRUE(SimulatedHost::row(inventory, "0000:41:00.4").dirty());
    EXPECT_FALSE(SimulatedHost::row(inventory, "0000:41:00.5").dirty());
    EXPECT_TRUE(SimulatedHost::row(inventory, "0000:41:00.5").allocated());
    EXPECT_EQ(inventory.gpus[0].allocated, 2);
}

TEST(Inventory, ShowsAClaimThatCannotBeReadOnItsDeviceOnly) {
    SimulatedHost host(one_card);
    test::write_file(host.simulator.state() + "/claims/pci-0000:41:00.4.json", "{\"version\":9}");
    const Inventory inventory = host.inventory();
    const DeviceInfo& device = SimulatedHost::row(inventory, "0000:41:00.4");
    ASSERT_TRUE(device.claim);
    EXPECT_FALSE(device.claim->claim);
    EXPECT_TRUE(device.allocated());
    EXPECT_FALSE(SimulatedHost::row(inventory, "0000:41:00.5").claim);
}

// I6; bug report D74
TEST(Inventory, ShowsAnMdevThatNobodyHasClaimedAsForeign) {
    SimulatedHost host("gpu 0000:03:00.0 model=A2 vfs=2\n");
    host.simulator.control(std::string("foreign-mdev ") + mdev_uuid + " 744 0000:03:00.4");
    const Inventory inventory = host.inventory();
    const DeviceInfo& device = SimulatedHost::row(inventory, mdev_uuid);
    EXPECT_EQ(device.function.to_string(), "0000:03:00.4");
    EXPECT_EQ(device.type_id, 744U);
    EXPECT_EQ(device.profile, "NVIDIA A2-1Q");
    EXPECT_TRUE(device.foreign());
    EXPECT_FALSE(is_repairable(device));
    EXPECT_EQ(inventory.devices.size(), 2U); // the parent's row is that of its mdev
}

TEST(Inventory, ShowsARowForEveryMdevOfACardWithoutVfsAndOneForTheNext) {
    SimulatedHost host("gpu 0000:04:00.0 model=T4\n");
    host.simulator.control(std::string("foreign-mdev ") + mdev_uuid + " 230 0000:04:00.0");
    const Inventory inventory = host.inventory();
    ASSERT_EQ(inventory.devices.size(), 2U);
    EXPECT_EQ(inventory.devices[0].mdev, Uuid::parse(mdev_uuid).value());
    EXPECT_FALSE(inventory.devices[1].mdev);
    EXPECT_EQ(inventory.devices[1].type_id, 0U);
}

TEST(Inventory, ShowsAnMdevThatIsClaimedAndNotYetThereOnItsParent) {
    SimulatedHost host("gpu 0000:03:00.0 model=A2 vfs=2\n");
    Claim claim = host.claim_on(mdev_uuid, "NVIDIA A2-1Q", 744);
    claim.parent = PciAddress::parse("0000:03:00.5").value();
    claim.state = ClaimState::configuring;
    host.store(mdev_uuid, claim);
    const Inventory inventory = host.inventory();
    const DeviceInfo& device = SimulatedHost::row(inventory, mdev_uuid);
    EXPECT_EQ(device.function.to_string(), "0000:03:00.5");
    EXPECT_EQ(device.type_id, 0U);
    EXPECT_TRUE(device.allocated());
}

// bug report D9
TEST(Inventory, ManagesWithMdevTypesThatHaveNeitherNameNorDescription) {
    SimulatedHost host("gpu 0000:03:00.0 model=A2 vfs=1\n");
    host.simulator.control("shape 0000:03:00.4 name absent");
    host.simulator.control("shape 0000:03:00.4 description absent");
    const Inventory inventory = host.inventory();
    const DeviceInfo& device = SimulatedHost::row(inventory, "0000:03:00.4");
    EXPECT_EQ(device.error, "");
    ASSERT_FALSE(device.offers.empty());
    EXPECT_THAT(device.offers[0].type.name, HasSubstr("nvidia-"));
}

TEST(Inventory, KeepsTheRememberedNameOfAnMdevTypeWhoseNameCannotBeReadNow) {
    SimulatedHost host("gpu 0000:03:00.0 model=A2 vfs=1\n");
    CatalogueMemory memory;
    ASSERT_TRUE(take_inventory(host.host, memory));
    host.simulator.control("shape 0000:03:00.4 name absent");
    const Inventory inventory = take_inventory(host.host, memory).value();
    for (const VgpuType& type : inventory.gpus[0].types) {
        EXPECT_THAT(type.name, testing::StartsWith("NVIDIA A2-")) << type.id;
    }
}

// bug report D37
TEST(Inventory, PromisesNoMoreMdevsThanTheCardTakes) {
    SimulatedHost host("gpu 0000:03:00.0 model=A2 vfs=16\n");
    EXPECT_EQ(available(host.inventory(), "NVIDIA A2-4Q"), 4U);
}

TEST(Inventory, KnowsWhoHasADeviceOpen) {
    SimulatedHost host(one_card);
    host.simulator.control("process-add 4242 comm=qemu-system-x86");
    host.simulator.control("process-fd 4242 7 group:0000:41:00.4");
    const Inventory inventory = host.inventory();
    const DeviceInfo& held = SimulatedHost::row(inventory, "0000:41:00.4");
    EXPECT_EQ(held.in_use, true);
    ASSERT_TRUE(held.holder);
    EXPECT_EQ(held.holder->to_string(), "pid 4242 (qemu-system-x86)");
    EXPECT_EQ(SimulatedHost::row(inventory, "0000:41:00.5").in_use, false);
}

// A group node is opened by one process at a time: a look must not make a starting VMM fail.
TEST(Inventory, OpensNoVfioNode) {
    SimulatedHost host(one_card);
    host.simulator.control("hold 0000:41:00.4"); // an open would be refused, and counted
    static_cast<void>(host.inventory());
    EXPECT_EQ(host.simulator.counter("open.group.busy"), 0U);
    static_cast<void>(Witnesses::exclusive_open(host.inventory().devices[0].nodes));
    EXPECT_EQ(host.simulator.counter("open.group.busy"), 1U); // the counter does count
}

TEST(Inventory, GivesDevicesToUsByTheConfiguration) {
    SimulatedHost host("gpu 0000:41:00.0 vfs=2\ngpu 0000:42:00.0 vfs=1\n");
    host.configuration.gpus.ignored = {PciAddress::parse("0000:41:00.5").value(),
                                       PciAddress::parse("0000:42:00.0").value()};
    const Inventory inventory = host.inventory();
    EXPECT_TRUE(inventory.gpus[0].managed);
    EXPECT_FALSE(inventory.gpus[1].managed);
    EXPECT_TRUE(SimulatedHost::row(inventory, "0000:41:00.4").managed);
    EXPECT_FALSE(SimulatedHost::row(inventory, "0000:41:00.5").managed);
    EXPECT_FALSE(SimulatedHost::row(inventory, "0000:42:00.4").managed);
}

TEST(Inventory, SaysThatAMigCardWithoutInstancesOffersNothing) {
    SimulatedHost host("gpu 0000:41:00.0 model=H200X vfs=2 mig=on\n");
    EXPECT_THAT(host.inventory().gpus[0].reason, HasSubstr("MIG"));
}

TEST(Inventory, IsTheSameInWhateverOrderDirectoriesList) {
    SimulatedHost host("gpu 0000:41:00.0 vfs=16\n");
    const Inventory sorted = host.inventory();
    host.simulator.control("shuffle 7");
    const Inventory shuffled = host.inventory();
    ASSERT_EQ(sorted.devices.size(), shuffled.devices.size());
    for (std::size_t i = 0; i < sorted.devices.size(); ++i) {
        EXPECT_EQ(sorted.devices[i].function, shuffled.devices[i].function);
    }
}

} // namespace vgpu
