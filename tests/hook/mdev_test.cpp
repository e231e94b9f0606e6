#include "tests/hook/hook_process.hpp"

#include <fmt/format.h>

#include <filesystem>

namespace vgpu::test {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* mdev_a = "c0ffee00-0000-4000-8000-00000000000a";
constexpr const char* mdev_b = "c0ffee00-0000-4000-8000-00000000000b";

class MdevHook : public HookTest {
public:
    MdevHook()
        : HookTest({.gpus = 2, .vfs = 4, .arguments = {"--framework", "mdev"}, .config = ""}) {}

    [[nodiscard]] bool exists(const std::string& mdev) const {
        return std::filesystem::exists(sim.sysfs() + "/bus/mdev/devices/" + mdev);
    }
};

TEST_F(MdevHook, CreatesTheMdevOfTheXmlAndRemovesItAtStop) {
    const HookEnd end = prepare("vm1", xml_a(mdev_a));
    ASSERT_EQ(end.status, 0) << end.message;
    EXPECT_TRUE(exists(mdev_a));
    const auto made = claim(mdev_a);
    ASSERT_TRUE(made);
    EXPECT_EQ(made->framework, FrameworkKind::mdev);
    EXPECT_EQ(made->state, ClaimState::configured);
    EXPECT_EQ(made->mdev_uuid->to_string(), mdev_a);
    EXPECT_EQ(made->type_id, type_4q);
    ASSERT_TRUE(made->parent);
    ASSERT_EQ(release("vm1", xml_a(mdev_a)).status, 0);
    EXPECT_FALSE(exists(mdev_a));
    expect_all_free();
}

TEST_F(MdevHook, PutsTheSecondDomainOnTheEmptierGpu) {
    ASSERT_EQ(prepare("vm1", xml_a(mdev_a)).status, 0);
    ASSERT_EQ(prepare("vm2", xml_b(mdev_b)).status, 0);
    EXPECT_NE(claimed(mdev_a).gpu, claimed(mdev_b).gpu);
}

TEST_F(MdevHook, HonoursTheGpuOfTheRequest) {
    for (const char* gpu : {"0000:41:00.0", "0000:42:00.0"}) {
        const std::string xml =
            domain_xml("vm1", uuid_a, {{"vgpu0", profile, mdev_a, gpu, "", false}});
        ASSERT_EQ(prepare("vm1", xml).status, 0);
        EXPECT_EQ(claimed(mdev_a).gpu->to_string(), gpu);
        ASSERT_EQ(release("vm1", xml).status, 0);
    }
}

TEST_F(MdevHook, TriesTheNextParentWhenTheDriverRefusesOne) {
    ASSERT_EQ(prepare("vm1", xml_a(mdev_a)).status, 0);
    const std::string refusing = claimed(mdev_a).parent->to_string();
    ASSERT_EQ(release("vm1", xml_a(mdev_a)).status, 0);
    sim.control(fmt::format("fault {} create write EIO always", refusing));
    for (int start = 0; start < 4; ++start) {
        ASSERT_EQ(prepare("vm1", xml_a(mdev_a)).status, 0);
        EXPECT_NE(claimed(mdev_a).parent->to_string(), refusing);
        ASSERT_EQ(release("vm1", xml_a(mdev_a)).status, 0);
    }
}

TEST_F(MdevHook, SaysThatThereIsNoRoomWhenTheGpusCarryAnotherSize) {
    for (int gpu = 0; gpu < 2; ++gpu) {
        const std::string uuid = fmt::format("bbbbbbbb-0000-4000-8000-00000000001{}", gpu);
        const std::string mdev = fmt::format("c0ffee00-0000-4000-8000-00000000001{}", gpu);
        ASSERT_EQ(prepare("other", domain_xml("other", uuid,
                                              {{"vgpu0", "NVIDIA L40S-8Q", mdev, "", "", false}}))
                      .status,
                  0);
    }
    const HookEnd end = prepare("vm1", xml_a(mdev_a));
    EXPECT_EQ(end.status, 1);
    EXPECT_THAT(end.message,
                AllOf(HasSubstr("vgpu0"), HasSubstr(profile), HasSubstr("no parent has room")));
    EXPECT_EQ(claim(mdev_a), std::nullopt);
}

// I6, bug report D74
TEST_F(MdevHook, NeverTouchesAnMdevThatSomebodyElseMade) {
    sim.control(fmt::format("foreign-mdev {} {} 0000:41:00.4", mdev_b, type_4q));
    ASSERT_EQ(prepare("vm1", xml_a(mdev_a)).status, 0);
    ASSERT_EQ(release("vm1", xml_a(mdev_a)).status, 0);
    EXPECT_TRUE(exists(mdev_b));
}

// bug report D89: the mdev of the XML is there already, from a start that died or from mdevctl
TEST_F(MdevHook, MakesALeftOverMdevOfItsOwnUuidAnew) {
    sim.control(fmt::format("foreign-mdev {} {} 0000:41:00.5", mdev_a, type_4q));
    ASSERT_EQ(prepare("vm1", xml_a(mdev_a)).status, 0);
    EXPECT_EQ(claimed(mdev_a).parent->to_string(), "0000:41:00.5");
    EXPECT_EQ(sim.counter("0000:41:00.5.mdevs_removed"), 1U);
}

TEST_F(MdevHook, RefusesAnMdevThatSomebodyHolds) {
    sim.control(fmt::format("foreign-mdev {} {} 0000:41:00.5", mdev_a, type_4q));
    sim.control(fmt::format("hold {}", mdev_a));
    EXPECT_EQ(prepare("vm1", xml_a(mdev_a)).status, 1);
    EXPECT_TRUE(exists(mdev_a));
    EXPECT_EQ(sim.counter("writes_while_open"), 0U);
}

// bug report D54: GRID 14.4 and 15.x remove the mdev themselves and leak it when it is removed
// first
TEST_F(MdevHook, GivesADriverThatRemovesItsMdevsTimeTo) {
    config = write_config("[mdev]\nself_removal = \"10s\"\n");
    sim.control("self-removal 200");
    ASSERT_EQ(prepare("vm1", xml_a(mdev_a)).status, 0);
    sim.control(fmt::format("hold {}", mdev_a));
    sim.control(fmt::format("unhold {}", mdev_a)); // the VMM has come and gone
    ASSERT_EQ(release("vm1", xml_a(mdev_a)).status, 0);
    EXPECT_FALSE(exists(mdev_a));
    EXPECT_EQ(claim(mdev_a), std::nullopt);
    EXPECT_EQ(sim.counter("self_removals"), 1U);
    EXPECT_EQ(sim.counter("leaks"), 0U);
}

// bug report D55: the next start meets the mdev that its driver is about to remove
TEST_F(MdevHook, AStartRightAfterAStopWaitsForSuchADriver) {
    config = write_config("[hook]\ndeadline = \"120s\"\nrelease_budget = \"300ms\"\n"
                          "[mdev]\nself_removal = \"10s\"\n");
    sim.control("self-removal 1000");
    ASSERT_EQ(prepare("vm1", xml_a(mdev_a)).status, 0);
    sim.control(fmt::format("hold {}", mdev_a));
    sim.control(fmt::format("unhold {}", mdev_a));
    ASSERT_EQ(release("vm1", xml_a(mdev_a)).status, 0);
    const HookEnd end = prepare("vm1", xml_a(mdev_a));
    EXPECT_EQ(end.status, 0) << end.message;
    ASSERT_TRUE(claim(mdev_a));
    EXPECT_EQ(claimed(mdev_a).state, ClaimState::configured);
    EXPECT_TRUE(exists(mdev_a));
    EXPECT_EQ(sim.counter("leaks"), 0U);
}

// bug report D65, where it was met: with mdevs
TEST_F(MdevHook, RemovesTheMdevWhoseParametersAreRefused) {
    sim.control("fault vgpu_params write EINVAL always");
    const HookEnd end = prepare(
        "vm1", domain_xml("vm1", uuid_a, {{"vgpu0", profile, mdev_a, "", "nonsense=1", false}}));
    EXPECT_EQ(end.status, 1);
    EXPECT_THAT(end.message, HasSubstr("vgpu_params"));
    EXPECT_FALSE(exists(mdev_a));
    EXPECT_EQ(claim(mdev_a), std::nullopt);
    EXPECT_EQ(sim.counter("mdevs_created"), 1U) << "no other parent would take them either";
}

// hypeman 3.1: unreadable parents beside a good one
TEST_F(MdevHook, PassesOverParentsThatCannotBeRead) {
    for (const char* parent : {"0000:41:00.4", "0000:41:00.5", "0000:41:00.6"}) {
        sim.control(fmt::format("fault {} mdev_supported_types readdir EIO always", parent));
    }
    const HookEnd end = prepare(
        "vm1", domain_xml("vm1", uuid_a, {{"vgpu0", profile, mdev_a, "0000:41:00.0", "", false}}));
    ASSERT_EQ(end.status, 0) << end.message;
    EXPECT_EQ(claimed(mdev_a).parent->to_string(), "0000:41:00.7");
}

// hypeman 3.1: no parent can be read, or they cannot even be listed
TEST_F(MdevHook, RefusesWhenNoParentCanBeRead) {
    for (const char* what : {"mdev_supported_types", "class/mdev_bus"}) {
        sim.control(fmt::format("fault {} readdir EIO always", what));
        const HookEnd end = prepare("vm1", xml_a(mdev_a));
        EXPECT_EQ(end.status, 1) << what;
        EXPECT_THAT(end.message, HasSubstr("Input/output error")) << what;
        EXPECT_EQ(claim(mdev_a), std::nullopt) << what;
        sim.control("faults-clear");
    }
    EXPECT_EQ(prepare("vm1", xml_a(mdev_a)).status, 0);
}

// I10; hypeman 3.1: neither the one framework nor the other is guessed
TEST_F(MdevHook, RefusesAVfWhoseFrameworkCannotBeToldWithTheReason) {
    sim.control("fault 0000:41:00.4 mdev_supported_types stat EIO always");
    const HookEnd end = prepare("vm1", xml_a(vf0));
    EXPECT_EQ(end.status, 1);
    EXPECT_THAT(end.message, HasSubstr("Input/output error"));
}

TEST_F(MdevHook, RefusesAVfOfAnMdevGpuAsPciDevice) {
    const HookEnd end = prepare("vm1", xml_a(vf0));
    EXPECT_EQ(end.status, 1);
    EXPECT_THAT(end.message, AllOf(HasSubstr("mdev"), HasSubstr("virt-vgpu assign")));
}

TEST_F(MdevHook, AMistypedProfileSaysWhichThereAre) {
    const HookEnd end = prepare("vm1", xml_a(mdev_a, "NVIDIA L40S-5Q"));
    EXPECT_EQ(end.status, 1);
    EXPECT_THAT(end.message, AllOf(HasSubstr("NVIDIA L40S-5Q"), HasSubstr("NVIDIA L40S-4Q")));
}

// bug report D9: name and description are optional
TEST_F(MdevHook, FindsATypeWithoutANameByItsId) {
    sim.control("shape 0000:41:00.4 name absent");
    const HookEnd end =
        prepare("vm1", domain_xml("vm1", uuid_a,
                                  {{"vgpu0", "nvidia-1150", mdev_a, "0000:41:00.0", "", false}}));
    EXPECT_EQ(end.status, 0) << end.message;
}

class OldMdevHook : public HookTest {
public:
    OldMdevHook()
        : HookTest({.gpus = 1,
                    .vfs = 0,
                    .arguments = {"--framework", "mdev-pf", "--model", "T4"},
                    .config = ""}) {}
};

// Cards before SR-IOV: the PF is the parent of many
TEST_F(OldMdevHook, PutsSeveralMdevsOnOnePf) {
    ASSERT_EQ(prepare("vm1", xml_a(mdev_a, "GRID T4-4Q")).status, 0);
    ASSERT_EQ(prepare("vm2", xml_b(mdev_b, "T4-4Q")).status, 0);
    EXPECT_EQ(claimed(mdev_a).parent, claimed(mdev_b).parent);
    EXPECT_EQ(release("vm1", xml_a(mdev_a, "GRID T4-4Q")).status, 0);
    EXPECT_TRUE(claim(mdev_b));
}

} // namespace vgpu::test
