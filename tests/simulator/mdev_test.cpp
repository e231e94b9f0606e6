#include "tests/simulator/test_helpers.hpp"

#include <gmock/gmock.h>

#include <filesystem>

namespace vgpu::test {
namespace {

using ::testing::HasSubstr;

namespace fs = std::filesystem;

constexpr auto uuid = "334852fe-079b-4e2c-9a3b-000000000001";
constexpr auto other_uuid = "334852fe-079b-4e2c-9a3b-000000000002";
constexpr auto vf = "0000:41:00.4";

SimulatorOptions a2() {
    return {.arguments = {}, .config = "gpu 0000:41:00.0 model=A2 vfs=4\n"};
}

std::string type_directory(const Simulator& sim, std::string_view parent, std::string_view type) {
    return sim.sysfs() + "/class/mdev_bus/" + std::string(parent) + "/mdev_supported_types/" +
           std::string(type);
}

std::string available(const Simulator& sim, std::string_view parent, std::string_view type) {
    return read_file(type_directory(sim, parent, type) + "/available_instances");
}

int create(const Simulator& sim, std::string_view parent, std::string_view type,
           std::string_view text) {
    return write_attribute(type_directory(sim, parent, type) + "/create", text);
}

TEST(SimulatedMdev, ParentOffersItsTypes) {
    const Simulator sim(a2());
    const auto type = type_directory(sim, vf, "nvidia-742");
    EXPECT_EQ(read_file(type + "/name"), "NVIDIA A2-1B\n");
    EXPECT_THAT(read_file(type + "/description"), HasSubstr("framebuffer=1024M, "));
    EXPECT_EQ(read_file(type + "/device_api"), "vfio-pci\n");
    EXPECT_EQ(available(sim, vf, "nvidia-742"), "1\n");
    EXPECT_EQ(read_error(type + "/create"), EACCES);
    EXPECT_FALSE(fs::exists(sim.sysfs() + "/class/mdev_bus/0000:41:00.0"));
    EXPECT_FALSE(fs::exists(sim.device(vf) + "/nvidia"));
    EXPECT_FALSE(fs::exists(sim.device("0000:41:00.0") + "/mdev_supported_types"));
}

TEST(SimulatedMdev, IsMadeByAUuidAndShrinksItsSiblings) {
    const Simulator sim(a2());
    ASSERT_EQ(create(sim, vf, "nvidia-746", "334852FE-079B-4E2C-9A3B-000000000001\n"), 0);
    const auto mdev = sim.device(uuid);
    EXPECT_EQ(fs::read_symlink(mdev).string(),
              "../../../devices/pci0000:40/0000:40:01.0/0000:41:00.4/" + std::string(uuid));
    EXPECT_EQ(fs::read_symlink(mdev + "/mdev_type").filename(), "nvidia-746");
    EXPECT_TRUE(fs::exists(mdev + "/mdev_type/devices/" + uuid));
    EXPECT_EQ(fs::read_symlink(mdev + "/driver").filename(), "nvidia-vgpu-vfio");
    EXPECT_EQ(available(sim, vf, "nvidia-746"), "0\n");
    EXPECT_EQ(available(sim, "0000:41:00.5", "nvidia-746"), "1\n");
    EXPECT_EQ(available(sim, "0000:41:00.5", "nvidia-754"), "1\n");
    EXPECT_EQ(available(sim, "0000:41:00.5", "nvidia-747"), "0\n");
    EXPECT_TRUE(fs::exists(sim.group_node(uuid)));
    EXPECT_EQ(read_file(mdev + "/nvidia/placement_id"), "Not Applicable\n");
}

TEST(SimulatedMdev, RefusesWhatTheKernelRefuses) {
    const Simulator sim(a2());
    EXPECT_EQ(create(sim, vf, "nvidia-746", "334852fe"), EINVAL);
    EXPECT_EQ(create(sim, vf, "nvidia-746", std::string(uuid) + "\n\n"), EINVAL);
    EXPECT_EQ(create(sim, vf, "nvidia-746", "334852fe-079b-4e2c-9a3b-00000000000g"), EINVAL);
    ASSERT_EQ(create(sim, vf, "nvidia-746", uuid), 0);
    EXPECT_EQ(create(sim, "0000:41:00.5", "nvidia-746", uuid), EEXIST);
    EXPECT_EQ(create(sim, vf, "nvidia-746", other_uuid), EINVAL);
    EXPECT_EQ(create(sim, "0000:41:00.5", "nvidia-747", other_uuid), EINVAL);
}

TEST(SimulatedMdev, IsRemovedByAWriteOfOne) {
    const Simulator sim(a2());
    ASSERT_EQ(create(sim, vf, "nvidia-746", uuid), 0);
    const auto remove = sim.device(uuid) + "/remove";
    EXPECT_EQ(write_attribute(remove, "yes"), EINVAL);
    EXPECT_EQ(write_attribute(remove, "0"), 0);
    EXPECT_TRUE(fs::exists(sim.device(uuid)));
    EXPECT_EQ(write_attribute(remove, "1"), 0);
    EXPECT_FALSE(fs::exists(sim.device(uuid)));
    EXPECT_EQ(write_attribute(remove, "1"), ENOENT);
    EXPECT_EQ(available(sim, vf, "nvidia-747"), "1\n");
}

TEST(SimulatedMdev, RemovalWaitsForTheLastUser) {
    const Simulator sim(a2());
    ASSERT_EQ(create(sim, vf, "nvidia-746", uuid), 0);
    const int held = try_open(sim.group_node(uuid));
    ASSERT_GE(held, 0);
    Writer writer(sim.device(uuid) + "/remove", "1");
    ASSERT_TRUE(eventually([&] { return sim.counter("writes_while_open") == 1; }));
    EXPECT_TRUE(writer.running());
    EXPECT_TRUE(fs::exists(sim.device(uuid)));
    close(held);
    EXPECT_EQ(writer.wait(), 0);
    EXPECT_FALSE(fs::exists(sim.device(uuid)));
}

TEST(SimulatedMdev, CanBeRemovedByItsDriverAfterTheLastUser) {
    const Simulator sim(a2());
    ASSERT_EQ(create(sim, vf, "nvidia-746", uuid), 0);
    sim.control("self-removal 1");
    EXPECT_TRUE(fs::exists(sim.device(uuid)));
    close(try_open(sim.group_node(uuid)));
    EXPECT_TRUE(eventually([&] { return !fs::exists(sim.device(uuid)); }));
    EXPECT_EQ(sim.counter("self_removals"), 1U);
    EXPECT_EQ(sim.counter("leaks"), 0U);
    EXPECT_EQ(available(sim, vf, "nvidia-748"), "1\n");
}

TEST(SimulatedMdev, LeaksWhenRemovedBeforeItsDriverDoes) {
    // bug report D54
    const Simulator sim(a2());
    ASSERT_EQ(create(sim, vf, "nvidia-746", uuid), 0);
    sim.control("self-removal 3600000");
    close(try_open(sim.group_node(uuid)));
    EXPECT_EQ(write_attribute(sim.device(uuid) + "/remove", "1"), 0);
    EXPECT_EQ(sim.counter("leaks"), 1U);
    EXPECT_EQ(available(sim, vf, "nvidia-748"), "0\n");
    sim.control("sriov 0000:41:00.0 cycle");
    EXPECT_EQ(available(sim, vf, "nvidia-748"), "0\n");
    sim.control("reboot keep-sriov");
    EXPECT_EQ(available(sim, vf, "nvidia-748"), "1\n");
}

TEST(SimulatedMdev, CanBeMadeByAnotherTool) {
    // bug report D74
    const Simulator sim(a2());
    sim.control("foreign-mdev 334852fe-079b-4e2c-9a3b-000000000001 A2-4Q 0000:41:00.4");
    EXPECT_TRUE(fs::exists(sim.device(uuid)));
    EXPECT_EQ(sim.counter("mdevs_created"), 0U);
    sim.control("shape 334852fe-079b-4e2c-9a3b-000000000001 mdev_type absent");
    EXPECT_FALSE(fs::exists(sim.device(uuid) + "/mdev_type"));
    sim.control("remove-mdev 334852fe-079b-4e2c-9a3b-000000000001");
    EXPECT_FALSE(fs::exists(sim.device(uuid)));
}

TEST(SimulatedMdev, TakesParametersUntilItIsInUse) {
    const Simulator sim(a2());
    ASSERT_EQ(create(sim, vf, "nvidia-746", uuid), 0);
    const auto params = sim.device(uuid) + "/nvidia/vgpu_params";
    EXPECT_EQ(write_attribute(params, "frame_rate_limiter=0\n"), 0);
    EXPECT_EQ(read_file(params), "frame_rate_limiter=0\n");
    const int held = try_open(sim.group_node(uuid));
    EXPECT_EQ(write_attribute(params, " "), EBUSY);
    EXPECT_EQ(read_file(sim.device(uuid) + "/nvidia/placement_id"), "0\n");
    close(held);
}

TEST(SimulatedMdev, HasAParentWithoutSriovOnOlderCards) {
    const Simulator sim(
        {.arguments = {}, .config = "gpu 0000:41:00.0 model=T4\ngpu 0000:42:00.0\n"});
    EXPECT_EQ(read_file(type_directory(sim, "0000:41:00.0", "nvidia-224") + "/name"),
              "GRID T4-2B4\n");
    EXPECT_EQ(available(sim, "0000:41:00.0", "nvidia-232"), "4\n");
    ASSERT_EQ(create(sim, "0000:41:00.0", "nvidia-232", uuid), 0);
    ASSERT_EQ(create(sim, "0000:41:00.0", "nvidia-232", other_uuid), 0);
    EXPECT_EQ(available(sim, "0000:41:00.0", "nvidia-232"), "2\n");
    EXPECT_EQ(available(sim, "0000:41:00.0", "nvidia-230"), "0\n");
    EXPECT_FALSE(fs::exists(sim.device("0000:41:00.0") + "/sriov_totalvfs"));
    EXPECT_TRUE(fs::exists(sim.device("0000:42:00.4") + "/nvidia"))
        << "frameworks can differ in one host";
}

TEST(SimulatedMdev, TypesCanLackTheirOptionalFiles) {
    // bug report D9
    const Simulator sim(a2());
    sim.control("shape 0000:41:00.4 nvidia-742/name absent");
    sim.control("shape 0000:41:00.4 nvidia-742/description absent");
    const auto type = type_directory(sim, vf, "nvidia-742");
    EXPECT_FALSE(fs::exists(type + "/name"));
    EXPECT_FALSE(fs::exists(type + "/description"));
    EXPECT_EQ(std::distance(fs::directory_iterator(type), {}), 4);
    sim.control("shape 0000:41:00.5 mdev_supported_types empty");
    EXPECT_TRUE(fs::is_empty(sim.device("0000:41:00.5") + "/mdev_supported_types"));
}

TEST(SimulatedMdev, CreateFailsAsOrdered) {
    const Simulator sim(a2());
    sim.control("fault 0000:41:00.4 create write ENOSPC");
    EXPECT_EQ(create(sim, vf, "nvidia-746", uuid), ENOSPC);
    EXPECT_EQ(create(sim, vf, "nvidia-746", uuid), 0);
}

} // namespace
} // namespace vgpu::test
