#include "tests/simulator/test_helpers.hpp"

#include <gmock/gmock.h>

#include <sys/stat.h>

#include <filesystem>

namespace vgpu::test {
namespace {

using ::testing::HasSubstr;

constexpr auto vf = "0000:41:00.4";

TEST(SimulatedNode, OfAGroupIsOpenedByOneAtATime) {
    const Simulator sim;
    const auto node = sim.group_node(vf);
    const int held = try_open(node);
    ASSERT_GE(held, 0);
    EXPECT_EQ(try_open(node), -EBUSY);
    EXPECT_EQ(sim.counter("0000:41:00.4.open.group"), 2U);
    EXPECT_EQ(sim.counter("open.group.busy"), 1U);
    close(held);
}

TEST(SimulatedNode, IsFreeAsSoonAsItWasClosed) {
    const Simulator sim;
    const auto node = sim.group_node(vf);
    for (int i = 0; i < 3000; ++i) {
        const int file = try_open(node);
        ASSERT_GE(file, 0) << "round " << i;
        close(file);
    }
}

TEST(SimulatedNode, StaysHeldWhileADuplicateIsOpen) {
    const Simulator sim;
    const auto node = sim.group_node(vf);
    const int held = try_open(node);
    const int twin = dup(held);
    close(held);
    EXPECT_EQ(try_open(node), -EBUSY);
    close(twin);
    const int again = try_open(node);
    EXPECT_GE(again, 0);
    close(again);
}

TEST(SimulatedNode, OfADeviceIsOpenedByMany) {
    const Simulator sim;
    const int one = try_open(sim.cdev_node(vf));
    const int two = try_open(sim.cdev_node(vf));
    const int group = try_open(sim.group_node(vf));
    EXPECT_GE(one, 0);
    EXPECT_GE(two, 0);
    EXPECT_GE(group, 0);
    for (const int file : {one, two, group}) {
        close(file);
    }
    const int container = try_open(sim.dev() + "/vfio/vfio");
    EXPECT_GE(container, 0);
    close(container);
}

TEST(SimulatedNode, ShowsUnderItsPathInTheRealProc) {
    const Simulator sim;
    const auto node = sim.group_node(vf);
    const int held = try_open(node);
    ASSERT_GE(held, 0);
    const auto entry = "/proc/self/fd/" + std::to_string(held);
    EXPECT_EQ(std::filesystem::read_symlink(entry).string(), node);
    struct stat by_entry{};
    struct stat by_path{};
    ASSERT_EQ(stat(entry.c_str(), &by_entry), 0);
    ASSERT_EQ(stat(node.c_str(), &by_path), 0);
    EXPECT_EQ(by_entry.st_ino, by_path.st_ino);
    EXPECT_EQ(by_entry.st_dev, by_path.st_dev);
    close(held);
}

TEST(SimulatedNode, CountsTypeWritesUnderAHolder) {
    const Simulator sim;
    ASSERT_EQ(write_type(sim, vf, "1150"), 0);
    for (const auto& node : {sim.group_node(vf), sim.cdev_node(vf)}) {
        const int held = try_open(node);
        EXPECT_EQ(write_type(sim, vf, "0"), EBUSY);
        EXPECT_EQ(sim.type(vf), 1150U);
        close(held);
    }
    EXPECT_EQ(sim.counter("writes_while_open"), 2U);
    EXPECT_EQ(sim.counter("0000:41:00.4.writes_while_open"), 2U);
    EXPECT_EQ(write_type(sim, vf, "0"), 0);
    EXPECT_EQ(sim.counter("writes_while_open"), 2U);
}

TEST(SimulatedNode, LetsAWriteUnderAHolderPassWhenNotStrict) {
    const Simulator sim;
    sim.control("strict off");
    ASSERT_EQ(write_type(sim, vf, "1150"), 0);
    const int held = try_open(sim.group_node(vf));
    EXPECT_EQ(write_type(sim, vf, "0"), 0);
    EXPECT_EQ(sim.type(vf), 0U);
    EXPECT_EQ(sim.counter("writes_while_open"), 1U);
    close(held);
}

TEST(SimulatedNode, CanBeHeldByNobodyThatShows) {
    const Simulator sim;
    sim.control("hold 0000:41:00.4");
    EXPECT_EQ(try_open(sim.group_node(vf)), -EBUSY);
    EXPECT_EQ(write_type(sim, vf, "0"), EBUSY);
    sim.control("unhold 0000:41:00.4");
    const int held = try_open(sim.group_node(vf));
    EXPECT_GE(held, 0);
    close(held);
}

TEST(SimulatedNode, NamesItsRealHolder) {
    const Simulator sim;
    const int held = try_open(sim.group_node(vf));
    EXPECT_THAT(sim.report(), HasSubstr("holder=" + std::to_string(getpid())));
    close(held);
}

TEST(SimulatedNode, ExistsOnlyForVfioDevices) {
    const Simulator sim(
        {.arguments = {},
         .config = "gpu 0000:41:00.0 driver=vfio-pci\ngpu 0000:42:00.0 framework=mdev\n"});
    EXPECT_TRUE(std::filesystem::exists(sim.group_node("0000:41:00.0")));
    EXPECT_FALSE(std::filesystem::exists(sim.group_node("0000:42:00.0")));
    EXPECT_FALSE(std::filesystem::exists(sim.group_node("0000:42:00.4")));
}

TEST(SimulatedNode, OfADeviceIsMissingOnKernelsWithoutIommufd) {
    const Simulator sim;
    const auto node = sim.cdev_node(vf);
    sim.control("iommufd off");
    EXPECT_EQ(try_open(node), -ENOENT);
    EXPECT_TRUE(std::filesystem::exists(sim.group_node(vf)));
}

} // namespace
} // namespace vgpu::test
