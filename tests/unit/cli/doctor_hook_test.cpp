#include "agent/cli/doctor.hpp"
#include "agent/cli/hook_site.hpp"
#include "tests/support/temp_dir.hpp"
#include "tests/unit/cli/findings.hpp"
#include "tests/unit/cli/simulated_host.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>

namespace vgpu::cli {

namespace {

namespace fs = std::filesystem;
using test::lines_of;
using test::TempDir;
using test::write_file;
using testing::HasSubstr;

constexpr const char* elf = "\177ELF and so on";
const std::time_t hour = 3600;

class DoctorHook : public testing::Test {
protected:
    DoctorHook() {
        fs::create_directories(hooks() + "/qemu.d");
        executable(program(), elf);
    }

    [[nodiscard]] std::string hooks() const { return directory / "hooks"; }
    [[nodiscard]] std::string entry() const { return hooks() + "/qemu.d/virt-vgpu"; }
    [[nodiscard]] std::string program() const { return directory / "sbin/virt-vgpu-hook"; }

    static void executable(const std::string& path, std::string_view text) {
        write_file(path, text);
        ASSERT_EQ(::chmod(path.c_str(), 0755), 0);
    }
    void install() const { fs::create_symlink(program(), entry()); }

    std::string check() {
        const Examination examination{host.host, inventory, fail(ErrorCode::unavailable, "off"),
                                      {},        {daemon},  hooks(),
                                      "/no/such"};
        Findings findings;
        check_hook(examination, findings);
        return lines_of(findings);
    }

    TempDir directory;
    test::SimulatedHost host{"gpu 0000:41:00.0 vfs=1\n"};
    Inventory inventory;
    DaemonProcess daemon{77, "libvirtd", std::time(nullptr) + hour, "", true, ""};
};

} // namespace

TEST_F(DoctorHook, IsContentWithALinkThatWasThereWhenTheDaemonStarted) {
    install();
    const auto lines = check();
    EXPECT_THAT(lines, HasSubstr("ok hook: "));
    EXPECT_THAT(lines, HasSubstr("ok hook known: libvirtd (pid 77) started after"));
    EXPECT_EQ(lines.find("failure"), std::string::npos);
    EXPECT_EQ(lines.find("warning"), std::string::npos);
}

TEST_F(DoctorHook, SaysHowToInstallAMissingOne) {
    EXPECT_THAT(check(), HasSubstr("failure hook: not installed"));
    EXPECT_THAT(check(), HasSubstr("ln -sf /usr/sbin/virt-vgpu-hook"));
}

TEST_F(DoctorHook, FailsWhenThereIsNoHooksDirectoryAtAll) {
    fs::remove_all(hooks());
    EXPECT_THAT(check(), HasSubstr("failure hook: not installed"));
}

TEST_F(DoctorHook, SeesALinkThatLeadsNowhere) {
    install();
    fs::remove(program());
    EXPECT_THAT(check(), HasSubstr("which is not there"));
}

// A missing x bit is skipped by libvirt without a word.
TEST_F(DoctorHook, SeesAMissingXBit) {
    install();
    ASSERT_EQ(::chmod(program().c_str(), 0644), 0);
    EXPECT_THAT(check(), HasSubstr("failure hook: " + entry() + " is not executable"));
}

// A wrapper between libvirt and the hook defeats the orphan check.
TEST_F(DoctorHook, RefusesAWrapperScript) {
    executable(entry(), "#!/bin/sh\nexec /usr/sbin/virt-vgpu-hook \"$@\"\n");
    EXPECT_THAT(check(), HasSubstr("failure hook: " + entry() + " is a script"));
}

TEST_F(DoctorHook, WarnsOfACopy) {
    executable(entry(), elf);
    EXPECT_THAT(check(), HasSubstr("warning hook: " + entry() + " is a copy"));
}

TEST_F(DoctorHook, SeesADirectoryInItsPlace) {
    fs::create_directory(entry());
    EXPECT_THAT(check(), HasSubstr("is no regular file"));
}

// The daemon learns that there are hooks when it starts and at a reload only.
TEST_F(DoctorHook, IsNotContentWithPresence) {
    install();
    daemon.started = std::time(nullptr) - hour;
    const auto lines = check();
    EXPECT_THAT(lines, HasSubstr("warning hook known: "));
    EXPECT_THAT(lines, HasSubstr("systemctl reload libvirtd"));
}

TEST_F(DoctorHook, TakesAClaimOfThisBootAsEvidence) {
    install();
    daemon.started = std::time(nullptr) - hour;
    Claim claim = host.claim_on("0000:41:00.4", "NVIDIA L40S-4Q", 1150);
    claim.claimed_at = utc_now();
    const auto stored = [&claim] {
        return StoredClaim{DeviceKey::parse_device("0000:41:00.4").value(), claim};
    };
    inventory.claims = {stored()};
    EXPECT_THAT(check(), HasSubstr("ok hook known: the hook has made claims"));

    claim.state = ClaimState::claimed; // the daemon's own reservation proves nothing
    inventory.claims = {stored()};
    EXPECT_THAT(check(), HasSubstr("warning hook known"));

    claim.state = ClaimState::configured;
    claim.boot_id = "an earlier boot";
    inventory.claims = {stored()};
    EXPECT_THAT(check(), HasSubstr("warning hook known"));

    claim.boot_id = host.host.boot_id;
    claim.claimed_at = "2001-01-01T00:00:00Z"; // before the daemon started
    inventory.claims = {stored()};
    EXPECT_THAT(check(), HasSubstr("warning hook known"));
}

TEST_F(DoctorHook, TakesAnOlderHookOfSomebodyElseAsEvidenceToo) {
    // The daemon keeps one bit for all hooks of the driver.
    executable(hooks() + "/qemu", "#!/bin/sh\niptables-save\n");
    install();
    const auto lines = check();
    EXPECT_THAT(lines, HasSubstr("ok hook known"));
    EXPECT_THAT(lines, HasSubstr("ok other hooks: " + hooks() + "/qemu runs as well"));
}

// bug report 12 of libvirt's hooks: two tools on one device
TEST_F(DoctorHook, WarnsOfAnotherHookThatSpeaksOfGpus) {
    install();
    executable(hooks() + "/qemu.d/gpu.sh", "#!/bin/sh\necho 1 > /sys/.../sriov_numvfs\n");
    write_file(hooks() + "/qemu.d/not-executable", "#!/bin/sh\n# vfio\n");
    const auto lines = check();
    EXPECT_THAT(lines, HasSubstr("warning other hooks: " + hooks() + "/qemu.d/gpu.sh"));
    EXPECT_EQ(lines.find("not-executable"), std::string::npos);
}

TEST_F(DoctorHook, DoesNotWaitForAFifoAmongTheHooks) {
    install();
    ASSERT_EQ(::mkfifo((hooks() + "/qemu.d/fifo").c_str(), 0755), 0);
    EXPECT_THAT(check(), HasSubstr("ok hook: "));
}

TEST(FindDaemons, TellsStartAndRightsOfARunningOne) {
    const TempDir proc;
    write_file(proc / "stat", "cpu 1 2 3\nbtime 1000000\nprocesses 5\n");
    write_file(proc / "77/comm", "virtqemud\n");
    write_file(proc / "77/status",
               "Name:\tvirtqemud\nUid:\t0\t0\t0\t0\nCapEff:\t0000000001000000\n");
    write_file(proc / "77/limits",
               "Limit Soft Hard Units\nMax locked memory  65536  65536  bytes\n");
    write_file(proc / "77/attr/current", "libvirtd (enforce)\n");
    std::string stat = "77 (virtqemud) S 1";
    for (int field = 5; field < 20; ++field) {
        stat += " 0";
    }
    write_file(proc / "77/stat", stat + " 1 0 50000\n");
    write_file(proc / "78/comm", "libvirtd\n"); // of a user's session
    write_file(proc / "78/status", "Uid:\t1000\t1000\t1000\t1000\n");
    const auto daemons = find_daemons(Proc(proc.path().string()));
    ASSERT_EQ(daemons.size(), 1U);
    EXPECT_EQ(daemons[0].name, "virtqemud");
    ASSERT_TRUE(daemons[0].started);
    EXPECT_EQ(*daemons[0].started, 1000000 + 50000 / ::sysconf(_SC_CLK_TCK));
    EXPECT_TRUE(daemons[0].may_raise_limits);
    EXPECT_EQ(daemons[0].confinement, "libvirtd (enforce)");
    EXPECT_THAT(daemons[0].memlock, testing::StartsWith("65536"));
}

} // namespace vgpu::cli
