// Claim files, configuration and state directories that are broken: a clear refusal, nothing lost
// (I7).
#include "tests/hook/hook_process.hpp"

#include <fmt/format.h>

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

namespace vgpu::test {

using ::testing::AllOf;
using ::testing::HasSubstr;

class BadInput : public HookTest {
public:
    [[nodiscard]] static std::string content(const std::string& path) {
        std::ifstream file(path);
        return {std::istreambuf_iterator<char>(file), {}};
    }
};

TEST_F(BadInput, AnUnreadableClaimBlocksItsDeviceAndNothingElse) {
    const std::vector<std::string> contents{"",
                                            "{",
                                            "[]",
                                            "null",
                                            "{\"version\": 3}",
                                            "{\"version\": 2}",
                                            std::string(100000, 'x'),
                                            std::string("\0\0", 2),
                                            "{\"version\": -1}",
                                            "{\"version\": 2, \"framework\": 7}",
                                            std::string(5000, '[')};
    for (const std::string& bad : contents) {
        write_file(claim_path(vf0), bad);
        const HookEnd end = prepare("vm1", xml_a());
        EXPECT_EQ(end.status, 1) << bad.substr(0, 40);
        EXPECT_THAT(end.message, HasSubstr("pci-0000:41:00.4.json"));
        EXPECT_EQ(content(claim_path(vf0)), bad) << "never overwritten";
        EXPECT_EQ(prepare("vm2", xml_b(vf1)).status, 0);
        EXPECT_EQ(release("vm2", xml_b(vf1)).status, 0);
        EXPECT_EQ(release("vm1", xml_a()).status, 0);
        EXPECT_EQ(content(claim_path(vf0)), bad);
    }
    EXPECT_EQ(sim.type(vf0), 0U);
}

TEST_F(BadInput, AMutatedClaimIsReadOrRefusedButNeverCrashesAHook) {
    ASSERT_EQ(prepare("vm1", xml_a()).status, 0);
    const std::string good = content(claim_path(vf0));
    std::mt19937 random(20261129);
    for (int round = 0; round < 60; ++round) {
        std::string bad = good;
        for (unsigned change = 0; change < 1 + random() % 4; ++change) {
            bad[random() % bad.size()] = static_cast<char>(random() % 256);
        }
        write_file(claim_path(vf0), bad);
        const HookEnd end = prepare("vm2", xml_b());
        EXPECT_LE(end.status, 1) << end.message;
        if (end.status ==
            0) { // e.g. the state or the boot id was hit in a way that makes the claim over
            EXPECT_EQ(release("vm2", xml_b()).status, 0);
        }
    }
}

TEST_F(BadInput, AClaimOfAnotherDeviceUnderThisNameCountsAsClaimed) {
    write_file(
        claim_path(vf0),
        fmt::format(
            "{{\"version\":1,\"mdev_uuid\":\"{}\",\"domain\":{{\"uuid\":\"{}\",\"name\":\"x\"}}}}",
            "c0ffee00-0000-4000-8000-00000000000a", uuid_b));
    EXPECT_EQ(prepare("vm1", xml_a()).status, 1);
}

TEST_F(BadInput, AConfigurationErrorIsRefusedWithItsLine) {
    write_file(sim.directory() + "/bad.toml", "[hook]\ndeadline = \"20 parsecs\"\n");
    config = sim.directory() + "/bad.toml";
    EXPECT_THAT(prepare("vm1", xml_a()).message,
                AllOf(HasSubstr("bad.toml:2"), HasSubstr("deadline")));
}

TEST_F(BadInput,
       ANamedConfigurationThatIsMissingIsNoDefault) { // a typo there must not reach the real /sys
    config = sim.directory() + "/missing.toml";
    EXPECT_THAT(prepare("vm1", xml_a()).message, HasSubstr("missing.toml"));
}

TEST_F(BadInput, AStateDirectoryThatCannotBeWrittenRefusesTheStartAndLeavesTheDeviceFree) { // I2
    write_file(sim.state() + "/claims", "a file in its place");
    const HookEnd end = prepare("vm1", xml_a());
    EXPECT_EQ(end.status, 1);
    EXPECT_THAT(end.message, HasSubstr(sim.state() + "/claims"));
    EXPECT_EQ(sim.type(vf0), 0U);
    EXPECT_EQ(sim.counter(std::string(vf0) + ".types_set"), 0U) << "no hardware before the claim";
}

TEST_F(BadInput, OddNamesAreCarriedThrough) {
    const std::string name = "vm 'één' <&> ..";
    const std::string xml = domain_xml(name, uuid_a, {{"vgpu0", profile, vf0, "", "", false}});
    ASSERT_EQ(prepare(name, xml).status, 0);
    EXPECT_EQ(claimed(vf0).domain_name, name);
    EXPECT_EQ(hook(name, "started", "begin", xml).status, 0);
    EXPECT_EQ(release(name, xml).status, 0);
    expect_all_free();
}

TEST_F(BadInput, VersionOneClaimsAreReadAndTreatedAsOver) {
    const std::string mdev = "c0ffee00-0000-4000-8000-00000000000a";
    write_file(claim_path(mdev), fmt::format("{{\"version\":1,\"mdev_uuid\":\"{}\",\"domain\":{{"
                                             "\"uuid\":\"{}\",\"name\":\"old\"}}}}",
                                             mdev, uuid_b));
    const auto read = claim(mdev);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->framework, FrameworkKind::mdev);
    EXPECT_EQ(read->device_path, sim.sysfs() + "/bus/mdev/devices/" + mdev);
}

TEST_F(BadInput, AVersionOneClaimOfALivingVmmIsKept) { // I4: it says nothing of its boot
    const std::string mdev = "c0ffee00-0000-4000-8000-00000000000a";
    write_file(claim_path(mdev), fmt::format("{{\"version\":1,\"mdev_uuid\":\"{}\",\"domain\":{{"
                                             "\"uuid\":\"{}\",\"name\":\"old\"}}}}",
                                             mdev, uuid_a));
    sim.control(std::string("process-add 4242 cmdline=\"qemu -uuid ") + uuid_a + "\"");
    EXPECT_EQ(release("vm1", xml_a(mdev)).status, 0);
    EXPECT_TRUE(claim(mdev));
    sim.control("process-remove 4242");
    EXPECT_EQ(release("vm1", xml_a(mdev)).status, 0);
    EXPECT_FALSE(claim(mdev));
}

TEST_F(BadInput, AClaimOfTheWrongFrameworkCountsAsClaimed) {
    const std::string mdev = "c0ffee00-0000-4000-8000-00000000000a";
    ASSERT_EQ(prepare("vm1", xml_a()).status, 0);
    std::string text = to_json(claimed(vf0));
    ASSERT_EQ(release("vm1", xml_a()).status, 0);
    text.replace(text.find("\"mdev_uuid\":null"), 16, "\"mdev_uuid\":\"" + mdev + "\"");
    write_file(claim_path(mdev), text);
    for (const char* operation : {"release", "reconnect", "started"}) {
        EXPECT_EQ(hook("vm1", operation, "begin", xml_a(mdev)).status, 0) << operation;
    }
    EXPECT_TRUE(std::filesystem::exists(claim_path(mdev)));
}

TEST_F(BadInput, AClaimThatLeadsElsewhereCountsAsClaimed) {
    std::filesystem::create_directories(std::filesystem::path(claim_path(vf0)).parent_path());
    std::filesystem::create_symlink("/nonexistent", claim_path(vf0));
    const HookEnd end = prepare("vm1", xml_a());
    EXPECT_EQ(end.status, 1);
    EXPECT_THAT(end.message, HasSubstr("counts as claimed"));
    EXPECT_EQ(sim.type(vf0), 0U);
}

TEST_F(BadInput, OverlongTextsAreRefusedBeforeAnythingIsClaimed) { // a claim must be short enough
                                                                   // to be read again
    const std::string huge(200'000, 'Q');
    EXPECT_EQ(prepare("vm1", xml_a(vf0, huge)).status, 1) << "profile";
    EXPECT_EQ(prepare("vm1", domain_xml("vm1", uuid_a, {{"vgpu0", profile, vf0, "", huge, false}}))
                  .status,
              1)
        << "params";
    for (const std::size_t size : {std::size_t{252}, std::size_t{70'000}}) {
        const std::string name(size, 'n');
        EXPECT_EQ(prepare("vm1", domain_xml(name, uuid_a, {{"vgpu0", profile, vf0, "", "", false}}))
                      .status,
                  1)
            << "name of " << size;
    }
    EXPECT_TRUE(claim_files().empty());
    const std::string longest(251, 'n');
    const std::string xml = domain_xml(longest, uuid_a, {{"vgpu0", profile, vf0, "", "", false}});
    EXPECT_EQ(prepare("vm1", xml).status, 0);
    EXPECT_EQ(release("vm1", xml).status, 0);
    expect_all_free();
}

TEST_F(BadInput, ManyHostdevsTakeNoTimeAndLeaveNoLocks) {
    std::vector<TestDevice> devices;
    for (int i = 0; i < 20'000; ++i) {
        devices.push_back(
            {"", "", fmt::format("00000000-0000-4000-8000-{:012x}", i), "", "", false});
    }
    for (int i = 0; i < 60; ++i) {
        devices.push_back({fmt::format("v{}", i), profile, vf0, "", "", false});
    }
    const std::string xml = domain_xml("vm1", uuid_a, devices);
    EXPECT_EQ(prepare("vm1", xml).status, 1);
    EXPECT_EQ(release("vm1", xml).status, 0);
    EXPECT_FALSE(std::filesystem::exists(sim.runtime() + "/devices"));
}

TEST_F(BadInput, ADamagedIndexDoesNotKeepADeviceFromBeingFreed) {
    ASSERT_EQ(prepare("vm1", xml_a()).status, 0);
    const std::string index = sim.runtime() + "/domains/" + uuid_a;
    std::filesystem::remove_all(index);
    write_file(index, "no directory");
    EXPECT_EQ(release("vm1", xml_a()).status, 0);
    expect_all_free();
}

TEST_F(BadInput, OneUnreadableClaimDoesNotKeepTheVmmOutOfTheOther) {
    const std::string both = domain_xml(
        "vm1", uuid_a,
        {{"vgpu0", profile, vf0, "", "", false}, {"vgpu1", profile, vf1, "", "", false}});
    ASSERT_EQ(prepare("vm1", both).status, 0);
    write_file(claim_path(vf0), "{");
    const PlayedVmm vmm = play_vmm("vm1");
    EXPECT_EQ(hook("vm1", "started", "begin", both).status, 0);
    EXPECT_EQ(claimed(vf1).vmm, vmm.recorded);
}

TEST_F(BadInput, ADeviceThatIsRequestedAndNamedAgainIsRefusedAtOnce) {
    const HookEnd end = prepare(
        "vm1", domain_xml("vm1", uuid_a,
                          {{"vgpu0", profile, vf0, "", "", false}, {"", "", vf0, "", "", false}}));
    EXPECT_EQ(end.status, 1);
    EXPECT_THAT(end.message, HasSubstr("twice"));
}

} // namespace vgpu::test
