#include "tests/simulator/test_helpers.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <set>

namespace vgpu::test {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr auto header = "ID    : vGPU Name\n";
constexpr auto first = "0000:41:00.4";
constexpr auto second = "0000:41:00.5";

TEST(SimulatedVf, LooksFreeBeforeAnythingIsWritten) {
    const Simulator sim;
    EXPECT_EQ(read_file(type_file(sim, first)), "0\n");
    EXPECT_THAT(creatable(sim, first),
                StartsWith(std::string(header) + "1145  : NVIDIA L40S-1B\n"));
    EXPECT_THAT(creatable(sim, first),
                EndsWith("1166  : NVIDIA L40S-48A\n2164  : NVIDIA L40S-3B\n"));
    EXPECT_EQ(read_error(attribute(sim, first, "nvidia/gpu_instance_id")), ENXIO);
    EXPECT_EQ(read_error(attribute(sim, first, "nvidia/placement_id")), ENXIO);
    EXPECT_EQ(read_file(attribute(sim, first, "nvidia/vgpu_params")), "\n");
    EXPECT_EQ(read_file(attribute(sim, first, "nvidia/warm_update")), "0\n");
}

TEST(SimulatedVf, ListsTypesInTheHeaderlessFormatWhenAsked) {
    const Simulator sim({.arguments = {"--catalogue", "F2"}, .config = {}});
    EXPECT_THAT(creatable(sim, first), StartsWith("NVIDIA L40S-1B           1145\n"));
    EXPECT_EQ(write_type(sim, first, "1150"), 0);
    EXPECT_EQ(creatable(sim, first), "");
}

TEST(SimulatedVf, TakesACreatableTypeAndShrinksItsSiblings) {
    const Simulator sim;
    ASSERT_EQ(write_type(sim, first, "1150"), 0);
    EXPECT_EQ(read_file(type_file(sim, first)), "1150\n");
    EXPECT_EQ(read_file(attribute(sim, first, "nvidia/placement_id")), "0\n");
    EXPECT_EQ(read_error(attribute(sim, first, "nvidia/gpu_instance_id")), ENXIO);
    EXPECT_EQ(creatable(sim, first), header);
    EXPECT_EQ(creatable(sim, second),
              std::string(header) + "1150  : NVIDIA L40S-4Q\n1160  : NVIDIA L40S-4A\n");
    EXPECT_THAT(creatable(sim, "0000:42:00.4"), HasSubstr("NVIDIA L40S-8Q"));
}

TEST(SimulatedVf, LosesItsTypeToARefusedWrite) {
    const Simulator sim;
    ASSERT_EQ(write_type(sim, first, "1150"), 0);
    EXPECT_NE(write_type(sim, first, "1151"), 0);
    EXPECT_EQ(sim.type(first), 0U);
    ASSERT_EQ(write_type(sim, first, "1150"), 0);
    EXPECT_NE(write_type(sim, first, "1150"), 0);
    EXPECT_EQ(sim.type(first), 0U);
    EXPECT_NE(write_type(sim, first, "999999"), 0);
    EXPECT_THAT(creatable(sim, second), HasSubstr("NVIDIA L40S-48Q"));
}

TEST(SimulatedVf, IsFreeAgainAfterAWriteOfZero) {
    const Simulator sim;
    ASSERT_EQ(write_type(sim, first, "1150\n"), 0);
    ASSERT_EQ(
        write_attribute(attribute(sim, first, "nvidia/vgpu_params"), "frame_rate_limiter=0\n"), 0);
    EXPECT_EQ(read_file(attribute(sim, first, "nvidia/vgpu_params")), "frame_rate_limiter=0\n");
    ASSERT_EQ(write_type(sim, first, "0"), 0);
    EXPECT_EQ(sim.type(first), 0U);
    EXPECT_EQ(read_file(attribute(sim, first, "nvidia/vgpu_params")), "\n");
    EXPECT_EQ(write_type(sim, first, "0"), 0);
    EXPECT_EQ(sim.counter("0000:41:00.4.resets"), 2U);
}

TEST(SimulatedVf, ReadsNumbersAsTheKernelDoes) {
    const Simulator sim;
    for (const auto* text : {"", " 1150", "1150 ", "0x47e", "1150\n\n", "-1", "NVIDIA L40S-4Q"}) {
        if (*text != '\0') {
            EXPECT_EQ(write_type(sim, first, text), EINVAL) << text;
        }
    }
    EXPECT_EQ(write_type(sim, first, "4294967296"), ERANGE);
    EXPECT_EQ(write_type(sim, first, "+1150"), 0);
}

TEST(SimulatedVf, RefusesParametersThatItCannotKeep) {
    const Simulator sim;
    const auto params = attribute(sim, first, "nvidia/vgpu_params");
    EXPECT_EQ(write_attribute(params, "loglevel=5"), EINVAL);
    ASSERT_EQ(write_type(sim, first, "1150"), 0);
    EXPECT_EQ(write_attribute(params, std::string(1024, 'x')), EINVAL);
    EXPECT_EQ(write_attribute(params, "loglevel=5"), 0);
    EXPECT_EQ(write_attribute(params, " "), 0);
    EXPECT_EQ(read_file(params), "\n");
}

TEST(SimulatedVf, AttributesHaveTheModesOfSysfs) {
    const Simulator sim;
    const auto readable = attribute(sim, first, "nvidia/creatable_vgpu_types");
    EXPECT_EQ(write_attribute(readable, "1"), EACCES);
    EXPECT_EQ(std::filesystem::status(readable).permissions(), std::filesystem::perms(0444));
    EXPECT_EQ(std::filesystem::status(type_file(sim, first)).permissions(),
              std::filesystem::perms(0644));
    EXPECT_EQ(open((sim.sysfs() + "/new").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644), -1);
    EXPECT_EQ(errno, EACCES);
    // The shell truncates what it redirects to.
    const int file =
        open(type_file(sim, first).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    ASSERT_GE(file, 0);
    EXPECT_EQ(write(file, "1150\n", 5), 5);
    close(file);
    EXPECT_EQ(sim.type(first), 1150U);
}

TEST(SimulatedVf, ShowsItsPlaceInTheHostAsSysfsDoes) {
    namespace fs = std::filesystem;
    const Simulator sim;
    const auto vf = sim.device(first);
    EXPECT_EQ(fs::read_symlink(vf).string(),
              "../../../devices/pci0000:40/0000:40:01.0/0000:41:00.4");
    EXPECT_EQ(fs::read_symlink(vf + "/physfn").string(), "../0000:41:00.0");
    EXPECT_EQ(fs::read_symlink(vf + "/driver").string(), "../../../../bus/pci/drivers/nvidia");
    EXPECT_EQ(fs::canonical(sim.device("0000:41:00.0") + "/virtfn0"), fs::canonical(vf));
    EXPECT_TRUE(fs::exists(sim.sysfs() + "/kernel/iommu_groups/" +
                           fs::read_symlink(vf + "/iommu_group").filename().string() + "/devices/" +
                           first));
    EXPECT_TRUE(fs::exists(vf + "/driver/0000:41:00.0"));
    EXPECT_FALSE(fs::exists(vf + "/sriov_totalvfs"));
    EXPECT_FALSE(fs::exists(sim.device("0000:41:00.0") + "/nvidia"));
    EXPECT_FALSE(fs::exists(sim.sysfs() + "/class/mdev_bus"));
    EXPECT_EQ(read_file(vf + "/vendor"), "0x10de\n");
    EXPECT_EQ(read_file(vf + "/device"), "0x26b9\n");
    EXPECT_EQ(read_file(vf + "/class"), "0x030200\n");
    EXPECT_EQ(read_file(sim.device("0000:41:00.0") + "/sriov_numvfs"), "8\n");
    EXPECT_EQ(read_file(sim.sysfs() + "/module/nvidia/version"), "580.105.08\n");
}

TEST(SimulatedVf, PutsVfsWhereSriovWould) {
    // bug reports D1 and D3: domains other than 0, and the same bus in two of them
    const Simulator sim({.arguments = {},
                         .config = "gpu 0001:c8:00.0 model=RTX-PRO-6000 vfs=48\n"
                                   "gpu 0000:c8:00.0 model=L40S vfs=4\n"
                                   "gpu 10000:e1:00.0 vfs=300 numa=1 vf-numa=-1\n"});
    namespace fs = std::filesystem;
    EXPECT_TRUE(fs::exists(sim.device("0001:c8:00.2")));
    EXPECT_TRUE(fs::exists(sim.device("0001:c8:06.1")));
    EXPECT_FALSE(fs::exists(sim.device("0001:c8:06.2")));
    EXPECT_TRUE(fs::exists(sim.device("0000:c8:00.7")));
    EXPECT_TRUE(fs::exists(sim.device("10000:e2:05.7")));
    EXPECT_EQ(read_file(sim.device("10000:e1:00.4") + "/numa_node"), "-1\n");
    EXPECT_EQ(read_file(sim.device("10000:e1:00.0") + "/numa_node"), "1\n");
    EXPECT_THAT(creatable(sim, "0001:c8:00.2"),
                HasSubstr("1519  : NVIDIA RTX Pro 6000 Blackwell DC-3Q\n"));
}

TEST(SimulatedVf, ServesFourThousandVfs) {
    const Simulator sim({.gpus = 8, .vfs = 512, .arguments = {}, .config = {}});
    std::set<std::string> groups;
    std::size_t vfs = 0;
    for (const auto& entry :
         std::filesystem::directory_iterator(sim.sysfs() + "/bus/pci/devices")) {
        if (std::filesystem::exists(entry.path() / "physfn")) {
            ++vfs;
            groups.insert(std::filesystem::read_symlink(entry.path() / "iommu_group").filename());
        }
    }
    EXPECT_EQ(vfs, 4096U);
    EXPECT_EQ(groups.size(), 4096U);
    EXPECT_EQ(write_type(sim, "0000:56:02.3", "1150"), 0);
    EXPECT_EQ(creatable(sim, "0000:56:00.4"),
              std::string(header) + "1150  : NVIDIA L40S-4Q\n1160  : NVIDIA L40S-4A\n");
}

TEST(SimulatedVf, RefusesTheKernelsOwnSriovFile) {
    const Simulator sim;
    const auto file = sim.device("0000:41:00.0") + "/sriov_numvfs";
    EXPECT_EQ(write_attribute(file, "0"), ENOENT);
    EXPECT_EQ(write_attribute(file, "8"), 0);
    EXPECT_EQ(write_attribute(file, "5000"), ERANGE);
    EXPECT_EQ(read_file(file), "8\n");
}

} // namespace
} // namespace vgpu::test
