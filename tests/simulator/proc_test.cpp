#include "tests/simulator/test_helpers.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <sstream>

namespace vgpu::test {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

namespace fs = std::filesystem;

constexpr auto vf = "0000:41:00.4";

std::size_t entries(const std::string& directory) {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(directory), {}));
}

TEST(SimulatedProc, ShowsAProcessAsTheKernelDoes) {
    const Simulator sim;
    sim.control("process-add 4242 comm=\"CPU 0) S 1 (x\" start=777 state=R ppid=7 "
                "cmdline=\"qemu-system-x86_64 -uuid 0b1c\"");
    const auto stat = read_file(sim.proc() + "/4242/stat");
    EXPECT_THAT(stat, StartsWith("4242 (CPU 0) S 1 (x) R 7 "));
    // Start time is field 22; the first two end at the last parenthesis.
    std::istringstream fields(stat.substr(stat.rfind(')') + 1));
    std::string field;
    for (int number = 3; number <= 22; ++number) {
        fields >> field;
    }
    EXPECT_EQ(field, "777");
    EXPECT_EQ(read_file(sim.proc() + "/4242/cmdline"), std::string("qemu-system-x86_64\0-uuid\0"
                                                                   "0b1c\0",
                                                                   30));
    EXPECT_THAT(read_file(sim.proc() + "/4242/status"), HasSubstr("State:\tR (running)\n"));
    EXPECT_EQ(read_file(sim.proc() + "/4242/comm"), "CPU 0) S 1 (x\n");
    EXPECT_EQ(entries(sim.proc() + "/4242/task"), 1U);
}

TEST(SimulatedProc, HandlesHoldTheDevice) {
    const Simulator sim;
    sim.control("process-add 4242");
    sim.control("process-fd 4242 12 group:0000:41:00.4");
    EXPECT_EQ(fs::read_symlink(sim.proc() + "/4242/fd/12").string(), sim.group_node(vf));
    EXPECT_EQ(try_open(sim.group_node(vf)), -EBUSY);
    EXPECT_EQ(write_type(sim, vf, "0"), EBUSY);
    sim.control("process-fd 4242 12 close");
    EXPECT_EQ(write_type(sim, vf, "0"), 0);
    sim.control("process-fd 4242 13 cdev:0000:41:00.4");
    EXPECT_EQ(fs::read_symlink(sim.proc() + "/4242/fd/13").string(), sim.cdev_node(vf));
    EXPECT_EQ(write_type(sim, vf, "0"), EBUSY);
    const int group = try_open(sim.group_node(vf));
    EXPECT_GE(group, 0) << "the cdev's holder does not show in the group";
    close(group);
    sim.control("process-remove 4242");
    EXPECT_EQ(write_type(sim, vf, "0"), 0);
    EXPECT_FALSE(fs::exists(sim.proc() + "/4242"));
}

TEST(SimulatedProc, LinksCanBeOfEveryKind) {
    const Simulator sim;
    sim.control("process-add 4242");
    sim.control("process-fd 4242 1 /dev/null");
    sim.control("process-fd 4242 2 \"group:0000:41:00.4 (deleted)\"");
    sim.control("process-fd 4242 3 file");
    sim.control("process-fd 4242 4 socket:[1234]");
    sim.control("process-fd 4242 5 /dev/vfio/17");
    const auto fds = sim.proc() + "/4242/fd/";
    EXPECT_EQ(fs::read_symlink(fds + "1").string(), "/dev/null");
    EXPECT_EQ(fs::read_symlink(fds + "2").string(), sim.group_node(vf) + " (deleted)");
    EXPECT_FALSE(fs::is_symlink(fds + "3"));
    EXPECT_EQ(fs::read_symlink(fds + "4").string(), "socket:[1234]");
    EXPECT_EQ(fs::read_symlink(fds + "5").string(), "/dev/vfio/17");
    EXPECT_EQ(write_type(sim, vf, "0"), EBUSY);
}

TEST(SimulatedProc, AZombieLeaderHidesTheHandlesOfItsThread) {
    const Simulator sim;
    sim.control("process-add 4242");
    sim.control("process-fd 4242 12 group:0000:41:00.4");
    sim.control("process-thread 4242 4250");
    sim.control("process-state 4242 Z");
    EXPECT_EQ(entries(sim.proc() + "/4242/fd"), 0U);
    EXPECT_EQ(read_file(sim.proc() + "/4242/cmdline"), "");
    EXPECT_THAT(read_file(sim.proc() + "/4242/stat"), HasSubstr(") Z "));
    EXPECT_EQ(entries(sim.proc() + "/4242/task"), 2U);
    EXPECT_EQ(fs::read_symlink(sim.proc() + "/4242/task/4250/fd/12").string(), sim.group_node(vf));
    EXPECT_THAT(read_file(sim.proc() + "/4242/task/4250/stat"), StartsWith("4250 (CPU 0/KVM) S "));
    EXPECT_EQ(try_open(sim.group_node(vf)), -EBUSY);
}

TEST(SimulatedProc, EntriesCanBeUnreadable) {
    const Simulator sim;
    sim.control("process-add 4242");
    sim.control("process-fd 4242 12 /dev/null");
    sim.control("fault proc/4242/fd readdir EACCES");
    std::error_code error;
    fs::directory_iterator(sim.proc() + "/4242/fd", error);
    EXPECT_EQ(error.value(), EACCES);
    sim.control("fault 4242/fd/12 readlink EACCES");
    static_cast<void>(fs::read_symlink(sim.proc() + "/4242/fd/12", error));
    EXPECT_EQ(error.value(), EACCES);
}

TEST(SimulatedProc, ProcessesVanishInTheMiddleOfAScan) {
    const Simulator sim;
    sim.control("process-add 4242");
    const int file = open((sim.proc() + "/4242/stat").c_str(), O_RDONLY | O_CLOEXEC);
    ASSERT_GE(file, 0);
    sim.control("process-vanish 4242");
    char byte = 0;
    EXPECT_EQ(read(file, &byte, 1), -1);
    EXPECT_EQ(errno, ESRCH);
    close(file);
    EXPECT_EQ(read_error(sim.proc() + "/4242/stat"), ENOENT);
    EXPECT_EQ(entries(sim.proc()), 5U) << "a listing still names it";
    sim.control("process-remove 4242");
    EXPECT_EQ(entries(sim.proc()), 4U);
    sim.control("process-add 4243");
    sim.control("process-vanish 4243 2");
    EXPECT_EQ(read_error(sim.proc() + "/4243/stat"), 0) << "an open and a read";
    EXPECT_EQ(read_error(sim.proc() + "/4243/stat"), ENOENT);
}

TEST(SimulatedProc, HasABootId) {
    const Simulator sim;
    const auto file = sim.proc() + "/sys/kernel/random/boot_id";
    const auto before = read_file(file);
    EXPECT_EQ(before.size(), 37U);
    sim.control("process-add 4242");
    sim.control("reboot");
    EXPECT_NE(read_file(file), before);
    EXPECT_FALSE(fs::exists(sim.proc() + "/4242"));
}

TEST(SimulatedProc, CanBeCrowded) {
    const Simulator sim;
    sim.control("process-crowd 500 3");
    EXPECT_EQ(entries(sim.proc()), 504U);
    EXPECT_EQ(entries(sim.proc() + "/1000499/fd"), 3U);
}

} // namespace
} // namespace vgpu::test
