#include "tests/simulator/test_helpers.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace vgpu::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr auto header = "ID    : vGPU Name\n";

/// How many of the VFs from 0000:41:00.4 on take the type, one after the other, until one is
/// refused.
unsigned fill(const Simulator& sim, std::string_view type, unsigned vfs) {
    for (unsigned i = 0; i < vfs; ++i) {
        const auto name = fmt::format("0000:41:{:02x}.{:x}", (4 + i) / 8, (4 + i) % 8);
        if (write_type(sim, name, type) != 0) {
            return i;
        }
    }
    return vfs;
}

TEST(SimulatedCard, CarriesOneSizeButSeveralSeries) {
    const Simulator sim;
    ASSERT_EQ(write_type(sim, "0000:41:00.4", "1149"), 0);
    EXPECT_EQ(write_type(sim, "0000:41:00.5", "1159"), 0);
    EXPECT_EQ(write_type(sim, "0000:41:00.6", "1151"), EINVAL);
    EXPECT_EQ(creatable(sim, "0000:41:00.6"), std::string(header) + "1149  : NVIDIA L40S-3Q\n"
                                                                    "1159  : NVIDIA L40S-3A\n"
                                                                    "2164  : NVIDIA L40S-3B\n");
}

TEST(SimulatedCard, OffersNothingWhenFullThoughVfsAreLeft) {
    const Simulator sim({.gpus = 1, .vfs = 16, .arguments = {}, .config = {}});
    EXPECT_EQ(fill(sim, "1153", 16), 4U);
    EXPECT_EQ(creatable(sim, "0000:41:01.7"), header);
    ASSERT_EQ(write_type(sim, "0000:41:00.5", "0"), 0);
    EXPECT_THAT(creatable(sim, "0000:41:01.7"), HasSubstr("1153"));
}

TEST(SimulatedCard, MakesNoMoreVgpusThanItsCeiling) {
    const Simulator sim({.arguments = {}, .config = "gpu 0000:41:00.0 vfs=40 max-vgpus=32\n"});
    EXPECT_EQ(fill(sim, "1147", 40), 32U);
}

TEST(SimulatedCard, LosesRoomInMixedMode) {
    // NVIDIA's C-series tables: 16 GB types on 48 GB go from 3 to 2, 8 GB from 6 to 4, 4 GB from 12
    // to 8
    for (const auto& [type, equal, mixed] :
         {std::tuple("1154", 3U, 2U), {"1152", 6U, 4U}, {"1150", 12U, 8U}, {"1153", 4U, 4U}}) {
        const Simulator plain({.gpus = 1, .vfs = 16, .arguments = {}, .config = {}});
        EXPECT_EQ(fill(plain, type, 16), equal) << type;
        const Simulator sim({.gpus = 1, .vfs = 16, .arguments = {"--mixed"}, .config = {}});
        EXPECT_EQ(fill(sim, type, 16), mixed) << type;
    }
}

TEST(SimulatedCard, MixesSizesAndFragmentsInMixedMode) {
    const Simulator sim({.gpus = 1, .vfs = 16, .arguments = {"--mixed"}, .config = {}});
    ASSERT_EQ(write_type(sim, "0000:41:00.4", "1155"), 0);
    ASSERT_EQ(write_type(sim, "0000:41:00.5", "1153"), 0);
    ASSERT_EQ(write_type(sim, "0000:41:00.6", "1153"), 0);
    EXPECT_EQ(creatable(sim, "0000:41:00.7"), header);
    ASSERT_EQ(write_type(sim, "0000:41:00.4", "0"), 0);
    ASSERT_EQ(write_type(sim, "0000:41:00.7", "1150"), 0);
    // 20 GB are free, yet no slot of 24 is.
    EXPECT_THAT(creatable(sim, "0000:41:00.4"), Not(HasSubstr("L40S-24Q")));
    EXPECT_THAT(creatable(sim, "0000:41:00.4"), HasSubstr("L40S-12Q"));
}

TEST(SimulatedCard, ChangesModeOnlyWithoutVgpus) {
    const Simulator sim;
    ASSERT_EQ(write_type(sim, "0000:41:00.4", "1150"), 0);
    EXPECT_THROW(sim.control("mixed 0000:41:00.0 on"), std::runtime_error);
    ASSERT_EQ(write_type(sim, "0000:41:00.4", "0"), 0);
    sim.control("mixed 0000:41:00.0 on");
    EXPECT_THAT(sim.report(), HasSubstr("mixed=on"));
    sim.control("sriov 0000:41:00.0 cycle");
    EXPECT_THAT(sim.report(), Not(HasSubstr("mixed=on")));
}

TEST(SimulatedCard, OffersNothingInMigModeWithoutInstances) {
    const Simulator sim(
        {.arguments = {}, .config = "gpu 0000:41:00.0 model=H200X mig=on vfs=16\n"});
    EXPECT_EQ(creatable(sim, "0000:41:00.4"), header);
    EXPECT_EQ(write_type(sim, "0000:41:00.4", "1414"), EIO);
    EXPECT_EQ(sim.type("0000:41:00.4"), 0U);
    sim.control("mig 0000:41:00.0 create 1 2");
    EXPECT_EQ(creatable(sim, "0000:41:00.4"), std::string(header) +
                                                  "1414  : NVIDIA H200X-1-18C\n"
                                                  "1415  : NVIDIA H200X-1-18CME\n");
    EXPECT_EQ(fill(sim, "1414", 16), 2U);
    EXPECT_EQ(read_file(attribute(sim, "0000:41:00.5", "nvidia/gpu_instance_id")), "2\n");
    EXPECT_EQ(read_file(attribute(sim, "0000:41:00.5", "nvidia/placement_id")), "0\n");
    sim.control("sriov 0000:41:00.0 cycle");
    EXPECT_EQ(creatable(sim, "0000:41:00.4"), header);
}

TEST(SimulatedCard, OffersNoMigTypesWithMigOff) {
    const Simulator sim({.arguments = {}, .config = "gpu 0000:41:00.0 model=H200X\n"});
    EXPECT_THAT(creatable(sim, "0000:41:00.4"), HasSubstr("1428  : NVIDIA H200X-141C"));
    EXPECT_THAT(creatable(sim, "0000:41:00.4"), Not(HasSubstr("H200X-1-18C")));
}

TEST(SimulatedCard, CanBeOfAModelThatTheTestMakesUp) {
    // bug report D7: two boards whose names differ only in what comes before the last word
    const Simulator sim(
        {.arguments = {},
         .config = "board pro4500 device=0x2bb6 framebuffer=32768 first-vf=2\n"
                   "board-type pro4500 2001 3072 \"NVIDIA RTX Pro 4500 Blackwell DC-3Q\"\n"
                   "gpu 0000:41:00.0 model=pro4500 vfs=4\n"
                   "gpu 0000:42:00.0 model=RTX-PRO-6000 vfs=4 # both end in DC-3Q\n"});
    EXPECT_EQ(creatable(sim, "0000:41:00.2"),
              std::string(header) + "2001  : NVIDIA RTX Pro 4500 Blackwell DC-3Q\n");
    EXPECT_EQ(read_file(sim.device("0000:41:00.2") + "/device"), "0x2bb6\n");
}

} // namespace
} // namespace vgpu::test
