#include "agent/core/config.hpp"
#include "tests/unit/core/test_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

namespace vgpu {
namespace {

using test::TestFiles;
using testing::ElementsAre;
using testing::HasSubstr;
using namespace std::chrono_literals;

PciAddress pci(const char* text) {
    return PciAddress::parse(text).value();
}

Config config_of(std::string_view text) {
    auto config = parse_config(text, "file.toml");
    EXPECT_TRUE(config) << config.error().text();
    return config ? *std::move(config) : Config();
}

constexpr const char* every_default = R"(
[paths]
sysfs = "/sys"                   # every root can be moved
proc = "/proc"
dev = "/dev"
libvirt_run = "/run/libvirt/qemu"
state = "/var/lib/virt-vgpu"
runtime = "/run/virt-vgpu"
[gpus]
managed = ["*"]
ignored = []
[hook]
deadline = "20s"
release_budget = "2s"
[mdev]
self_removal = "auto"
[libvirt]
uri = "qemu:///system"
rebind = true
[api]
group = "libvirt"
[reconcile]
interval = "60s"
)";

TEST(Config, OfAnEmptyFileIsTheDefaults) {
    EXPECT_EQ(config_of(""), Config());
    EXPECT_EQ(config_of("# nothing\n[hook]\n"), Config());
    EXPECT_EQ(config_of(every_default), Config());
}

TEST(Config, MayBeginWithAByteOrderMark) {
    EXPECT_EQ(config_of("\xef\xbb\xbf[hook]\ndeadline = '5s'").hook.deadline, 5s);
}

TEST(Config, TakesEveryKey) {
    const Config config = config_of(R"(
[paths]
sysfs = "/a/sys"
proc = "/a/proc"
dev = "/a/dev"
libvirt_run = "/a/run"
state = "/a/state"
runtime = "/a/runtime"
[gpus]
managed = ["0000:41:00.0", "00000001:C8:00.0"]
ignored = ["0000:41:00.4"]
[hook]
deadline = "9m"
release_budget = "1500ms"
[mdev]
self_removal = "10s"
[libvirt]
uri = "test:///default"
rebind = false
[api]
group = "vgpu"
[reconcile]
interval = "1h"
)");
    EXPECT_EQ(config.paths.sysfs, "/a/sys");
    EXPECT_EQ(config.paths.proc, "/a/proc");
    EXPECT_EQ(config.paths.dev, "/a/dev");
    EXPECT_EQ(config.paths.libvirt_run, "/a/run");
    EXPECT_EQ(config.paths.claims(), "/a/state/claims");
    EXPECT_EQ(config.paths.allocation_lock(), "/a/runtime/allocation.lock");
    EXPECT_FALSE(config.gpus.all_managed);
    EXPECT_THAT(config.gpus.managed, ElementsAre(pci("0000:41:00.0"), pci("0001:c8:00.0")));
    EXPECT_THAT(config.gpus.ignored, ElementsAre(pci("0000:41:00.4")));
    EXPECT_EQ(config.hook.deadline, 9min);
    EXPECT_EQ(config.hook.release_budget, 1500ms);
    EXPECT_EQ(config.mdev.self_removal, 10s);
    EXPECT_EQ(config.libvirt.uri, "test:///default");
    EXPECT_FALSE(config.libvirt.rebind);
    EXPECT_EQ(config.api.group, "vgpu");
    EXPECT_EQ(config.reconcile.interval, 1h);
}

TEST(Config, DropsSlashesAtTheEndOfAPath) {
    EXPECT_EQ(config_of("paths.state = \"/srv/vgpu//\"").paths.claims(), "/srv/vgpu/claims");
    EXPECT_EQ(config_of("paths.sysfs = \"/\"").paths.sysfs, "/");
    EXPECT_EQ(config_of("paths.sysfs = \"//\"").paths.sysfs, "/");
}

TEST(Config, CountsAnAddressThatIsNamedTwiceOnce) {
    const Config config = config_of(
        "gpus.managed = ['0001:c8:00.0', '00000001:C8:00.0', '0000:41:00.0', '0001:c8:00.0']");
    EXPECT_THAT(config.gpus.managed, ElementsAre(pci("0000:41:00.0"), pci("0001:c8:00.0")));
}

TEST(Config, TakesDurationsUpToTheirLimits) {
    EXPECT_EQ(config_of("reconcile.interval = '1ms'").reconcile.interval, 1ms);
    EXPECT_EQ(config_of("reconcile.interval = '3600000ms'").reconcile.interval, 1h);
    EXPECT_EQ(config_of("hook.deadline = '599999ms'").hook.deadline, 599999ms);
    EXPECT_EQ(config_of("hook.release_budget = '29999ms'").hook.release_budget, 29999ms);
}

TEST(Config, LetsTheWaitForAnMdevsSelfRemovalBeNoneOrAutomatic) {
    EXPECT_EQ(config_of("mdev.self_removal = '0s'").mdev.self_removal, 0ms);
    EXPECT_EQ(config_of("mdev.self_removal = '0ms'").mdev.self_removal, 0ms);
    EXPECT_EQ(config_of("mdev.self_removal = 'auto'").mdev.self_removal, -1ms);
}

TEST(Config, ManagesAllGpusButTheIgnoredOnes) {
    const Config config = config_of("gpus.ignored = ['0000:41:00.0', '0000:42:00.5']");
    EXPECT_TRUE(config.manages(pci("0000:42:00.0"), pci("0000:42:00.0")));
    EXPECT_TRUE(config.manages(pci("0000:42:00.0"), pci("0000:42:00.4")));
    EXPECT_FALSE(config.manages(pci("0000:42:00.0"), pci("0000:42:00.5")));
    EXPECT_FALSE(config.manages(pci("0000:41:00.0"), pci("0000:41:00.0")));
    EXPECT_FALSE(config.manages(pci("0000:41:00.0"), pci("0000:41:00.4")));
    EXPECT_TRUE(config.manages(pci("0001:41:00.0"), pci("0001:41:00.4")));
}

// bug report D43
TEST(Config, ManagesOnlyTheGpusThatItWasGiven) {
    const Config config =
        config_of("[gpus]\nmanaged = ['0000:41:00.0']\nignored = ['0000:41:00.4']");
    EXPECT_TRUE(config.manages(pci("0000:41:00.0"), pci("0000:41:00.5")));
    EXPECT_FALSE(config.manages(pci("0000:41:00.0"), pci("0000:41:00.4")));
    EXPECT_FALSE(config.manages(pci("0000:42:00.0"), pci("0000:42:00.4")));
    EXPECT_FALSE(config_of("gpus.managed = []").manages(pci("0000:41:00.0"), pci("0000:41:00.4")));
}

TEST(ConfigToToml, WritesEveryKeyOfTheDefaults) {
    EXPECT_EQ(config_of(to_toml(Config())), Config());
    for (const char* line : {"deadline = \"20s\"", "self_removal = \"auto\"", "managed = [\"*\"]",
                             "interval = \"1m\"", "rebind = true", "sysfs = \"/sys\""}) {
        EXPECT_THAT(to_toml(Config()), HasSubstr(line));
    }
}

TEST(ConfigToToml, IsReadBackAsTheSame) {
    Config config;
    config.paths = {"/", "/p \"q\" \\r", "/d#=[x]", "/l\xc3\xa9", "/s", "/r"};
    config.gpus = {false, {pci("0000:41:00.0"), pci("10000:e1:00.0")}, {pci("0000:41:00.4")}};
    config.hook = {61s, 1ms};
    config.mdev.self_removal = 0ms;
    config.libvirt = {"qemu+unix:///system?socket=/x", false};
    config.api.group = "a \"b\"";
    config.reconcile.interval = 1h;
    EXPECT_EQ(config_of(to_toml(config)), config);
    config.gpus.managed.clear();
    config.mdev.self_removal = 7min;
    EXPECT_EQ(config_of(to_toml(config)), config);
}

class LoadConfig : public testing::Test {
protected:
    TestFiles dir_;
};

TEST_F(LoadConfig, ReadsTheFile) {
    const std::string path = dir_.write("virt-vgpu.toml", "hook.deadline = '5s'\n");
    EXPECT_EQ(load_config(path, true).value().hook.deadline, 5s);
}

TEST_F(LoadConfig, IsTheDefaultsWithoutAFileThatNeedNotBe) {
    EXPECT_EQ(load_config(dir_.path("missing.toml"), false).value(), Config());
}

TEST_F(LoadConfig, NeverFallsBackFromAFileThatSomebodyMeant) {
    const auto named = load_config(dir_.path("missing.toml"), true);
    ASSERT_FALSE(named);
    EXPECT_EQ(named.error().code(), ErrorCode::not_found);
    EXPECT_THAT(named.error().text(), HasSubstr(dir_.path("missing.toml")));

    std::filesystem::create_symlink("nowhere", dir_.path("dangling.toml"));
    EXPECT_FALSE(load_config(dir_.path("dangling.toml"), false));
    EXPECT_FALSE(load_config(dir_.path(), false));
}

TEST_F(LoadConfig, NamesTheFileOfAnError) {
    const std::string path = dir_.write("virt-vgpu.toml", "\nhook.deadlin = '5s'\n");
    const auto config = load_config(path, false);
    ASSERT_FALSE(config);
    EXPECT_EQ(config.error().text(), path + ":2: unknown key `hook.deadlin`; known keys there: "
                                            "deadline, release_budget");
}

TEST_F(LoadConfig, RefusesAFileOfMoreThanAMebibyte) {
    const std::string line = "# " + std::string(1021, 'x') + "\n";
    std::string text;
    for (int i = 0; i < 1024; ++i) {
        text += line;
    }
    EXPECT_TRUE(load_config(dir_.write("most.toml", text), true));
    const auto config = load_config(dir_.write("more.toml", text + "\n"), true);
    ASSERT_FALSE(config);
    EXPECT_EQ(config.error().code(), ErrorCode::invalid);
    EXPECT_FALSE(parse_config(text + "\n", "file.toml"));
}

class ConfigPath : public testing::Test {
protected:
    ConfigPath() {
        if (const char* value = std::getenv("VIRT_VGPU_CONFIG")) {
            before_ = value;
        }
    }
    ~ConfigPath() override { ::setenv("VIRT_VGPU_CONFIG", before_.c_str(), 1); }

    std::string before_;
};

TEST_F(ConfigPath, IsTheOneOfTheEnvironmentIfThatIsNotEmpty) {
    ::setenv("VIRT_VGPU_CONFIG", "/srv/test.toml", 1);
    EXPECT_EQ(config_path(), "/srv/test.toml");
    ::setenv("VIRT_VGPU_CONFIG", "", 1);
    EXPECT_EQ(config_path(), default_config_path);
    ::unsetenv("VIRT_VGPU_CONFIG");
    EXPECT_EQ(config_path(), default_config_path);
}

} // namespace
} // namespace vgpu
