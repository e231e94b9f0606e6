#include "tests/simulator/test_helpers.hpp"

#include <gmock/gmock.h>

#include <filesystem>

namespace vgpu::test {
namespace {

using ::testing::HasSubstr;

constexpr auto vf = "0000:41:00.4";
constexpr auto other_vf = "0000:41:00.5";

TEST(SimulatedFault, HitsOneOperationAsOftenAsOrdered) {
    const Simulator sim;
    sim.control("fault 0000:41:00.4 current_vgpu_type write EIO 2");
    EXPECT_EQ(write_type(sim, other_vf, "1150"), 0);
    EXPECT_EQ(write_type(sim, vf, "1150"), EIO);
    EXPECT_EQ(write_type(sim, vf, "1150"), EIO);
    EXPECT_EQ(write_type(sim, vf, "1150"), 0);
}

TEST(SimulatedFault, CanSpareAllWritesButThoseOfZero) {
    const Simulator sim;
    sim.control("fault 0000:41:00.4 current_vgpu_type write-zero EPERM always");
    EXPECT_EQ(write_type(sim, vf, "1150"), 0);
    EXPECT_EQ(write_type(sim, vf, "0"), EPERM);
    EXPECT_EQ(write_type(sim, vf, "0\n"), EPERM);
    sim.control("fault 0000:41:00.4 current_vgpu_type write-zero EPERM 0");
    EXPECT_EQ(write_type(sim, vf, "0"), 0);
    sim.control("fault 0000:41:00.4 current_vgpu_type write-other EIO");
    EXPECT_EQ(write_type(sim, vf, "0"), 0);
    EXPECT_EQ(write_type(sim, vf, "1150"), EIO);
}

TEST(SimulatedFault, CanComeAfterTheEffect) {
    const Simulator sim;
    sim.control("fault 0000:41:00.4 current_vgpu_type write EIO 1 after");
    EXPECT_EQ(write_type(sim, vf, "1150"), EIO);
    EXPECT_EQ(sim.type(vf), 1150U);
}

TEST(SimulatedFault, HitsReadsOpensListsAndLinks) {
    const Simulator sim;
    sim.control("fault 0000:41:00.4 current_vgpu_type read EIO");
    EXPECT_EQ(read_error(type_file(sim, vf)), EIO);
    EXPECT_EQ(read_error(type_file(sim, vf)), 0);
    sim.control("fault * creatable_vgpu_types open EACCES");
    EXPECT_EQ(read_error(attribute(sim, other_vf, "nvidia/creatable_vgpu_types")), EACCES);
    sim.control("fault 0000:41:00.4 group open ENODEV");
    EXPECT_EQ(try_open(sim.group_node(vf)), -ENODEV);
    sim.control("fault sys/bus/pci/devices readdir EIO");
    std::error_code error;
    std::filesystem::directory_iterator(sim.sysfs() + "/bus/pci/devices", error);
    EXPECT_EQ(error.value(), EIO);
    sim.control("fault 0000:41:00.4 physfn readlink EIO");
    EXPECT_THROW(std::filesystem::read_symlink(attribute(sim, vf, "physfn")),
                 std::filesystem::filesystem_error);
    sim.control("fault 0000:41:00.4/numa_node stat EIO always");
    EXPECT_EQ(read_error(attribute(sim, vf, "numa_node")), EIO);
    sim.control("faults-clear");
    EXPECT_EQ(read_error(attribute(sim, vf, "numa_node")), 0);
}

TEST(SimulatedFault, ResetsAreIgnoredAsOftenAsOrdered) {
    const Simulator sim;
    sim.control("set-type 0000:41:00.4 1150");
    sim.control("ignore-resets 0000:41:00.4 2");
    EXPECT_EQ(write_type(sim, vf, "0"), 0);
    EXPECT_EQ(write_type(sim, vf, "0"), 0);
    EXPECT_EQ(sim.type(vf), 1150U);
    EXPECT_EQ(write_type(sim, vf, "0"), 0);
    EXPECT_EQ(sim.type(vf), 0U);
    EXPECT_EQ(sim.counter("resets"), 1U);
    EXPECT_EQ(sim.counter("resets_ignored"), 2U);
}

TEST(SimulatedFault, ResetsAreRefusedWhileTheLastUserSettles) {
    const Simulator sim;
    ASSERT_EQ(write_type(sim, vf, "1150"), 0);
    sim.control("settle 0000:41:00.4 3600000");
    EXPECT_EQ(write_type(sim, vf, "0"), 0) << "nobody had it open yet";
    ASSERT_EQ(write_type(sim, vf, "1150"), 0);
    close(try_open(sim.group_node(vf)));
    EXPECT_EQ(write_type(sim, vf, "0"), EPERM);
    sim.control("settle 0000:41:00.4 0");
    EXPECT_EQ(write_type(sim, vf, "0"), 0);
}

TEST(SimulatedFault, ReadBackLies) {
    const Simulator sim;
    ASSERT_EQ(write_type(sim, vf, "1150"), 0);
    sim.control("lie 0000:41:00.4 1151 2");
    EXPECT_EQ(sim.type(vf), 1151U);
    EXPECT_EQ(sim.type(vf), 1151U);
    EXPECT_EQ(sim.type(vf), 1150U);
    sim.control("stale 0000:41:00.4 1");
    ASSERT_EQ(write_type(sim, vf, "0"), 0);
    EXPECT_EQ(sim.type(vf), 1150U);
    EXPECT_EQ(sim.type(vf), 0U);
}

TEST(SimulatedFault, TypesAppearBehindEverybodysBack) {
    const Simulator sim;
    sim.control("set-type 0000:41:00.4 L40S-48Q");
    sim.control("set-type 0000:41:00.5 1150");
    EXPECT_EQ(sim.type(vf), 1156U);
    EXPECT_EQ(sim.type(other_vf), 1150U);
    EXPECT_EQ(creatable(sim, "0000:41:00.6"), "ID    : vGPU Name\n");
    EXPECT_EQ(write_type(sim, vf, "0"), 0);
    EXPECT_THAT(creatable(sim, "0000:41:00.6"), HasSubstr("L40S-4A"));
    EXPECT_EQ(sim.counter("types_set"), 0U);
}

TEST(SimulatedFault, FilesShowWhatATestPutsThere) {
    const Simulator sim;
    sim.control(R"(content 0000:41:00.4 creatable_vgpu_types "1150 NVIDIA\nx : y\n")");
    EXPECT_EQ(creatable(sim, vf), "1150 NVIDIA\nx : y\n");
    sim.control("content 0000:41:00.4 creatable_vgpu_types");
    EXPECT_THAT(creatable(sim, vf), HasSubstr("L40S-1B"));
    sim.control("shape 0000:41:00.4 nvidia/current_vgpu_type directory");
    EXPECT_TRUE(std::filesystem::is_directory(type_file(sim, vf)));
    sim.control("shape 0000:41:00.4 nvidia absent");
    EXPECT_FALSE(std::filesystem::exists(sim.device(vf) + "/nvidia"));
    EXPECT_TRUE(std::filesystem::exists(sim.device(other_vf) + "/nvidia"));
    sim.control("shape 0000:41:00.4 vfio-dev empty");
    EXPECT_TRUE(std::filesystem::is_empty(sim.device(vf) + "/vfio-dev"));
}

TEST(SimulatedFault, ABlockedWriteStopsNothingElse) {
    const Simulator sim;
    sim.control("block 0000:41:00.4");
    Writer writer(type_file(sim, vf), "1150");
    ASSERT_TRUE(
        eventually([&] { return sim.counter("0000:41:00.4.write.current_vgpu_type") == 1; }));
    EXPECT_EQ(sim.type(vf), 0U);
    EXPECT_EQ(write_type(sim, other_vf, "1150"), 0);
    EXPECT_TRUE(writer.running());
    sim.control("unblock 0000:41:00.4");
    EXPECT_EQ(writer.wait(), 0);
    EXPECT_EQ(sim.type(vf), 1150U);
}

TEST(SimulatedFault, ABlockedWriterCanBeKilled) {
    const Simulator sim;
    sim.control("block 0000:41:00.4");
    Writer writer(type_file(sim, vf), "1150");
    ASSERT_TRUE(
        eventually([&] { return sim.counter("0000:41:00.4.write.current_vgpu_type") == 1; }));
    writer.signal(SIGKILL);
    EXPECT_EQ(writer.wait(), -SIGKILL);
    sim.control("unblock *");
    EXPECT_EQ(sim.type(vf), 0U);
    EXPECT_EQ(write_type(sim, vf, "1150"), 0);
}

TEST(SimulatedFault, ManyBlockedWritersLeaveRoomForOthers) {
    const Simulator sim({.gpus = 2, .vfs = 16, .arguments = {}, .config = {}});
    std::vector<std::unique_ptr<Writer>> writers;
    for (int i = 4; i < 8; ++i) {
        for (int slot = 0; slot < 2; ++slot) {
            const auto name = "0000:41:0" + std::to_string(slot) + "." + std::to_string(i);
            sim.control("block " + name);
            writers.push_back(std::make_unique<Writer>(type_file(sim, name), "1150"));
        }
    }
    ASSERT_TRUE(
        eventually([&] { return sim.counter("write.current_vgpu_type") == writers.size(); }));
    EXPECT_EQ(write_type(sim, "0000:42:00.4", "1150"), 0);
    sim.control("unblock *");
    for (auto& writer : writers) {
        EXPECT_EQ(writer->wait(), 0);
    }
}

TEST(SimulatedFault, ADelayedWriteStopsNothingElse) {
    const Simulator sim;
    sim.control("delay 0000:41:00.4 3600000");
    Writer writer(type_file(sim, vf), "1150");
    ASSERT_TRUE(
        eventually([&] { return sim.counter("0000:41:00.4.write.current_vgpu_type") == 1; }));
    EXPECT_EQ(write_type(sim, other_vf, "1150"), 0);
    EXPECT_TRUE(writer.running());
    writer.signal(SIGKILL);
    EXPECT_EQ(writer.wait(), -SIGKILL);
    sim.control("delay 0000:41:00.4 1");
    EXPECT_EQ(write_type(sim, vf, "1150"), 0);
}

TEST(SimulatedFault, EndsWithTheProgramThoughWritersAreBlocked) {
    Simulator sim;
    sim.control("block 0000:41:00.4 hard");
    Writer writer(type_file(sim, vf), "1150");
    ASSERT_TRUE(
        eventually([&] { return sim.counter("0000:41:00.4.write.current_vgpu_type") == 1; }));
    EXPECT_EQ(sim.stop(), 0);
    EXPECT_NE(writer.wait(), 0);
}

} // namespace
} // namespace vgpu::test
