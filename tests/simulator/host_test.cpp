#include "tests/simulator/test_helpers.hpp"

#include <gmock/gmock.h>

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <vector>

namespace vgpu::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

namespace fs = std::filesystem;

constexpr auto vf = "0000:41:00.4";

ino_t inode(const std::string& path) {
    struct stat status{};
    return stat(path.c_str(), &status) == 0 ? status.st_ino : 0;
}

std::vector<std::string> listing(const std::string& path) {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(path)) {
        names.push_back(entry.path().filename());
    }
    return names;
}

TEST(SimulatedHost, KeepsOnlyItsCardsOverAReboot) {
    const Simulator sim;
    ASSERT_EQ(write_type(sim, vf, "1150"), 0);
    sim.control("mixed 0000:42:00.0 on");
    sim.control("reboot");
    EXPECT_TRUE(fs::exists(sim.device("0000:41:00.0")));
    EXPECT_FALSE(fs::exists(sim.device(vf)));
    EXPECT_EQ(read_file(sim.device("0000:41:00.0") + "/sriov_numvfs"), "0\n");
    EXPECT_THAT(sim.report(), Not(HasSubstr("mixed=on")));
    sim.control("sriov 0000:41:00.0 8");
    EXPECT_EQ(sim.type(vf), 0U);
}

TEST(SimulatedHost, CanComeBackWithItsVfs) {
    const Simulator sim;
    ASSERT_EQ(write_type(sim, vf, "1150"), 0);
    sim.control("reboot keep-sriov");
    EXPECT_EQ(sim.type(vf), 0U);
    EXPECT_EQ(write_type(sim, vf, "1156"), 0);
}

TEST(SimulatedHost, RecreatesVfsUnderNewNumbers) {
    const Simulator sim;
    ASSERT_EQ(write_type(sim, vf, "1150"), 0);
    const auto group = sim.group_node(vf);
    const auto cdev = sim.cdev_node(vf);
    const auto number = inode(sim.device(vf) + "/");
    const int file = open(type_file(sim, vf).c_str(), O_RDONLY | O_CLOEXEC);
    ASSERT_GE(file, 0);
    sim.control("sriov 0000:41:00.0 cycle");
    EXPECT_EQ(sim.type(vf), 0U);
    EXPECT_NE(sim.group_node(vf), group);
    EXPECT_NE(sim.cdev_node(vf), cdev);
    EXPECT_NE(inode(sim.device(vf) + "/"), number);
    EXPECT_FALSE(fs::exists(group));
    char byte = 0;
    EXPECT_EQ(read(file, &byte, 1), -1);
    EXPECT_EQ(errno, ENODEV);
    close(file);
}

TEST(SimulatedHost, CyclesNoVfThatIsHeldUnlessForced) {
    const Simulator sim;
    const int held = try_open(sim.group_node(vf));
    EXPECT_THAT(reason(sim, "sriov 0000:41:00.0 cycle"), HasSubstr("in use"));
    sim.control("sriov 0000:41:00.0 cycle force");
    EXPECT_EQ(write_type(sim, vf, "1150"), 0) << "the new VF is not held";
    close(held);
    EXPECT_EQ(sim.counter("0000:41:00.4.writes_while_open"), 0U);
}

TEST(SimulatedHost, CannotChangeVfsUnderAnNvmlClient) {
    // bug report D51
    const Simulator sim;
    sim.control("nvml-client 0000:41:00.0 on");
    EXPECT_THAT(reason(sim, "sriov 0000:41:00.0 cycle"), HasSubstr("Cannot obtain unbindLock"));
    sim.control("sriov 0000:41:00.0 8");
    sim.control("nvml-client 0000:41:00.0 off");
    sim.control("sriov 0000:41:00.0 cycle");
}

TEST(SimulatedHost, CanLoseTheDriverOnTheWay) {
    // bug report D22
    const Simulator sim;
    sim.control("sriov-fail 0000:41:00.0");
    EXPECT_THAT(reason(sim, "sriov 0000:41:00.0 cycle"), HasSubstr("No such device"));
    EXPECT_FALSE(fs::exists(sim.device("0000:41:00.0") + "/driver"));
    EXPECT_FALSE(fs::exists(sim.device(vf)));
    EXPECT_NE(reason(sim, "sriov 0000:41:00.0 on"), "");
    EXPECT_EQ(write_attribute(sim.sysfs() + "/bus/pci/drivers/nvidia/bind", "0000:41:00.0"), 0);
    sim.control("sriov 0000:41:00.0 on");
    EXPECT_EQ(read_file(sim.device("0000:41:00.0") + "/sriov_numvfs"), "8\n");
}

TEST(SimulatedHost, MakesVfsOneAfterTheOther) {
    // bug report D24
    const Simulator sim({.arguments = {}, .config = "gpu 0000:41:00.0 vfs=0 total-vfs=16\n"});
    EXPECT_FALSE(fs::exists(sim.device("0000:41:00.0") + "/virtfn0"));
    sim.control("sriov 0000:41:00.0 2");
    EXPECT_TRUE(fs::exists(sim.device("0000:41:00.0") + "/virtfn1"));
    ASSERT_EQ(write_type(sim, vf, "1150"), 0);
    sim.control("sriov 0000:41:00.0 on");
    EXPECT_TRUE(fs::exists(sim.device("0000:41:00.0") + "/virtfn15"));
    EXPECT_EQ(sim.type(vf), 1150U);
}

TEST(SimulatedHost, AVfThatLeftItsDriverRefusesEveryType) {
    const Simulator sim;
    ASSERT_EQ(write_type(sim, vf, "1150"), 0);
    EXPECT_EQ(write_attribute(sim.sysfs() + "/bus/pci/drivers/nvidia/unbind", vf), 0);
    EXPECT_FALSE(fs::exists(sim.device(vf) + "/nvidia"));
    EXPECT_FALSE(fs::exists(sim.device(vf) + "/vfio-dev"));
    EXPECT_EQ(write_attribute(sim.sysfs() + "/bus/pci/drivers/vfio-pci/bind", vf), EINVAL);
    EXPECT_EQ(write_attribute(sim.sysfs() + "/bus/pci/drivers/nvidia/bind", vf), 0);
    EXPECT_EQ(write_type(sim, vf, "1150"), EIO);
    EXPECT_EQ(sim.counter("unbinds"), 1U);
    sim.control("sriov 0000:41:00.0 cycle");
    EXPECT_EQ(write_type(sim, vf, "1150"), 0);
}

TEST(SimulatedHost, AWedgedVfLooksHealthy) {
    const Simulator sim;
    sim.control("wedge 0000:41:00.4 on");
    EXPECT_EQ(write_type(sim, vf, "1150"), 0);
    EXPECT_EQ(sim.type(vf), 1150U);
    EXPECT_THAT(sim.report(), HasSubstr("wedged"));
}

TEST(SimulatedHost, CardsCanBeWithoutTheDriver) {
    // bug reports D18 and D43
    const Simulator sim({.arguments = {},
                         .config =
                             "gpu 0000:41:00.0 driver=none\ngpu 0000:42:00.0 driver=vfio-pci\n"
                             "gpu 0000:43:00.0\nother 0000:05:00.0\n"});
    EXPECT_FALSE(fs::exists(sim.device("0000:41:00.0") + "/driver"));
    EXPECT_EQ(fs::read_symlink(sim.device("0000:42:00.0") + "/driver").filename(), "vfio-pci");
    EXPECT_EQ(read_file(sim.device("0000:42:00.0") + "/sriov_numvfs"), "0\n");
    EXPECT_EQ(read_file(sim.device("0000:05:00.0") + "/class"), "0x020000\n");
}

TEST(SimulatedHost, CanOfferNeitherFramework) {
    const Simulator sim({.arguments = {}, .config = "gpu 0000:41:00.0 framework=none\n"});
    EXPECT_TRUE(fs::exists(sim.device(vf)));
    EXPECT_FALSE(fs::exists(sim.device(vf) + "/nvidia"));
    EXPECT_FALSE(fs::exists(sim.device(vf) + "/mdev_supported_types"));
}

TEST(SimulatedHost, OffersAFrameworkOnlyLater) {
    // bug report D23
    const Simulator sim({.arguments = {}, .config = "gpu 0000:41:00.0 model=A2 framework=none\n"});
    EXPECT_FALSE(fs::exists(sim.sysfs() + "/class/mdev_bus"));
    sim.control("framework 0000:41:00.0 mdev");
    EXPECT_TRUE(
        fs::exists(sim.sysfs() + "/class/mdev_bus/0000:41:00.4/mdev_supported_types/nvidia-742"));
    sim.control("framework 0000:41:00.0 vendor-vfio");
    EXPECT_EQ(write_type(sim, vf, "742"), 0);
    EXPECT_TRUE(fs::exists(sim.cdev_node(vf)));
    EXPECT_THAT(reason(sim, "framework 0000:41:00.0 mdev"), HasSubstr("has vGPUs"));
}

TEST(SimulatedHost, LosesAndGainsCards) {
    // bug report D41
    const Simulator sim;
    sim.control("gpu 0000:43:00.0 vfs=2");
    EXPECT_EQ(write_type(sim, "0000:43:00.5", "1150"), 0);
    sim.control("gpu-remove 0000:41:00.0");
    EXPECT_FALSE(fs::exists(sim.device("0000:41:00.0")));
    EXPECT_FALSE(fs::exists(sim.device(vf)));
}

TEST(SimulatedHost, ListsInAnyOrderThatIsAsked) {
    const Simulator sim;
    const auto path = sim.sysfs() + "/bus/pci/devices";
    const auto sorted = listing(path);
    EXPECT_TRUE(std::ranges::is_sorted(sorted));
    sim.control("shuffle 7");
    const auto shuffled = listing(path);
    EXPECT_NE(shuffled, sorted);
    EXPECT_EQ(listing(path), shuffled);
    EXPECT_THAT(shuffled, ::testing::UnorderedElementsAreArray(sorted));
}

} // namespace
} // namespace vgpu::test
