#include "tests/simulator/test_helpers.hpp"

#include <gmock/gmock.h>

#include <sys/mount.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <utility>

namespace vgpu::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

namespace fs = std::filesystem;

constexpr auto vf = "0000:41:00.4";

TEST(SimulatorProgram, SaysWhatIsWrongWithACommand) {
    const Simulator sim;
    EXPECT_EQ(write_attribute(sim.mount() + "/control", "frobnicate"), EINVAL);
    EXPECT_THAT(sim.report(), HasSubstr("\nerror there is no command 'frobnicate'\n"));
    EXPECT_THAT(reason(sim, "set-type 0000:99:00.4 1150"), HasSubstr("no device '0000:99:00.4'"));
    EXPECT_THAT(reason(sim, "fault 0000:41:00.4 current_vgpu_type write EWHAT"),
                HasSubstr("EWHAT"));
    EXPECT_THAT(reason(sim, "settle 0000:41:00.4 soon"), HasSubstr("usage: settle VF MS"));
    EXPECT_THAT(reason(sim, "hold 0000:41:00.4 now"), HasSubstr("too much"));
    EXPECT_EQ(try_open(sim.group_node(vf)) < 0, false) << "a refused command changes nothing";
    sim.control("counters-reset");
    EXPECT_THAT(sim.report(), Not(HasSubstr("\nerror ")));
}

TEST(SimulatorProgram, CountsWhatItIsAsked) {
    const Simulator sim;
    static_cast<void>(sim.type(vf));
    static_cast<void>(sim.type("0000:41:00.5"));
    static_cast<void>(fs::directory_iterator(sim.sysfs() + "/bus/pci/devices"));
    EXPECT_EQ(sim.counter("read.current_vgpu_type"), 2U);
    EXPECT_EQ(sim.counter("0000:41:00.4.read.current_vgpu_type"), 1U);
    EXPECT_EQ(sim.counter("readdir.sys/bus/pci/devices"), 1U);
    EXPECT_EQ(sim.counter("read.creatable_vgpu_types"), 0U);
    sim.control("counters-reset");
    EXPECT_EQ(sim.counter("read.current_vgpu_type"), 0U);
}

TEST(SimulatorProgram, EndsCleanlyAndTakesItsMountAlong) {
    Simulator sim;
    const int held = try_open(sim.group_node(vf));
    ASSERT_GE(held, 0);
    EXPECT_EQ(sim.stop(), 0);
    EXPECT_FALSE(fs::exists(sim.sysfs()));
    EXPECT_TRUE(fs::is_empty(sim.mount()));
    close(held);
}

TEST(SimulatorProgram, SaysThatAKilledOneLeftItsMount) {
    Simulator sim;
    kill(sim.pid(), SIGKILL);
    EXPECT_EQ(sim.stop(), -1);
    struct stat status{};
    ASSERT_EQ(stat(sim.mount().c_str(), &status), -1);
    ASSERT_EQ(errno, ENOTCONN);
    const auto run = [&](const std::string& options) {
        const auto command = std::string("timeout 30 ") + VGPU_SIMULATOR_PATH + " " + options +
                             " " + sim.mount() + " > " + sim.directory() + "/out 2>&1";
        return WEXITSTATUS(std::system(command.c_str()));
    };
    EXPECT_EQ(run(""), 1);
    EXPECT_THAT(read_file(sim.directory() + "/out"), HasSubstr("--replace-stale"));
    EXPECT_EQ(run("--replace-stale --command frobnicate"), 2);
    EXPECT_EQ(stat(sim.mount().c_str(), &status), 0);
}

/// A process that starts a simulator, tells its process id and directory, and does `then`.
template <typename Then>
std::pair<pid_t, std::string> run_elsewhere(Then then) {
    int channel[2];
    EXPECT_EQ(pipe2(channel, O_CLOEXEC), 0);
    const pid_t child = fork();
    if (child == 0) {
        const auto* sim = new Simulator;
        const auto text = std::to_string(sim->pid()) + " " + sim->directory();
        static_cast<void>(!write(channel[1], text.data(), text.size()));
        then(*sim);
        _exit(0);
    }
    close(channel[1]);
    char text[512] = {};
    EXPECT_GT(read(channel[0], text, sizeof(text) - 1), 0);
    close(channel[0]);
    waitpid(child, nullptr, 0);
    std::istringstream words(text);
    std::pair<pid_t, std::string> result;
    words >> result.first >> result.second;
    return result;
}

TEST(SimulatorProgram, EndsWhenItsParentIsKilled) {
    const auto [pid, directory] = run_elsewhere([](const Simulator&) { kill(getpid(), SIGKILL); });
    EXPECT_TRUE(eventually([&, directory = directory] {
        return read_file("/proc/self/mountinfo").find(directory) == std::string::npos;
    }));
    std::error_code another_test_may_clean_up_as_well;
    fs::remove_all(directory, another_test_may_clean_up_as_well);
}

TEST(SimulatorProgram, CleansUpAfterKilledTestRuns) {
    const auto [pid, directory] = run_elsewhere([](const Simulator& sim) {
        kill(sim.pid(), SIGKILL);
        waitpid(sim.pid(), nullptr, 0);
    });
    const Simulator next;
    EXPECT_FALSE(fs::exists(directory));
}

TEST(SimulatorProgram, ObeysTheStandInForSriovManage) {
    const Simulator sim;
    const auto run = [&](const std::string& arguments) {
        const auto command = "VGPU_SIMULATOR=" + sim.mount() + " " SRIOV_MANAGE " " + arguments +
                             " 2> " + sim.directory() + "/out";
        return WEXITSTATUS(std::system(command.c_str()));
    };
    EXPECT_EQ(run("-d 0000:41:00.0"), 0);
    EXPECT_EQ(read_file(sim.device("0000:41:00.0") + "/sriov_numvfs"), "0\n");
    EXPECT_EQ(run("-d ALL"), 0);
    EXPECT_EQ(read_file(sim.device("0000:42:00.0") + "/sriov_numvfs"), "0\n");
    sim.control("nvml-client 0000:41:00.0 on");
    EXPECT_EQ(run("-e ALL"), 1);
    EXPECT_EQ(read_file(sim.directory() + "/out"), "Cannot obtain unbindLock for 0000:41:00.0\n");
    EXPECT_EQ(read_file(sim.device("0000:42:00.0") + "/sriov_numvfs"), "8\n");
    EXPECT_EQ(run("--list"), 2);
}

TEST(SimulatorProgram, WritesAConfigurationThatPointsAtItself) {
    const Simulator sim;
    const auto text = read_file(sim.write_config("[hook]\ndeadline = \"5s\"\n"));
    EXPECT_THAT(text, HasSubstr("sysfs = \"" + sim.sysfs() + "\"\n"));
    EXPECT_THAT(text, HasSubstr("proc = \"" + sim.proc() + "\"\n"));
    EXPECT_THAT(text, HasSubstr("deadline"));
    EXPECT_THAT(read_file(sim.write_config({}, "/proc")), HasSubstr("proc = \"/proc\"\n"));
}

} // namespace
} // namespace vgpu::test
