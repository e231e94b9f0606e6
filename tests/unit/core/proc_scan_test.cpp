#include "agent/core/proc_scan.hpp"
#include "tests/support/temp_dir.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

namespace vgpu {

namespace {

namespace fs = std::filesystem;
using test::TempDir;
using test::write_file;

/// A /proc of plain files. Links lead nowhere: only their text counts.
class FakeProc {
public:
    void add(int pid, const std::string& name) {
        fs::create_directories(at(pid) / "fd");
        write_file((at(pid) / "comm").string(), name + "\n");
    }
    void open(int pid, int fd, const std::string& target) {
        fs::create_symlink(target, at(pid) / "fd" / std::to_string(fd));
    }
    void open_in_thread(int pid, int thread, const std::string& target) {
        const auto directory = at(pid) / "task" / std::to_string(thread) / "fd";
        fs::create_directories(directory);
        fs::create_symlink(target, directory / "3");
    }
    [[nodiscard]] fs::path at(int pid) const { return root_.path() / std::to_string(pid); }
    [[nodiscard]] HolderScan scan(const std::vector<std::string>& nodes) const {
        return scan_holders(Proc(root_.path().string()), nodes);
    }

private:
    TempDir root_;
};

const std::vector<std::string> nodes{"/dev/vfio/15", "/dev/vfio/16", "/dev/vfio/devices/vfio3"};

} // namespace

TEST(ProcScan, FindsTheHoldersOfManyNodesAtOnce) {
    FakeProc proc;
    proc.add(100, "qemu-a");
    proc.open(100, 5, "/dev/vfio/15");
    proc.add(200, "qemu-b");
    proc.open(200, 9, "/dev/vfio/devices/vfio3");
    const HolderScan scan = proc.scan(nodes);
    EXPECT_FALSE(scan.incomplete);
    ASSERT_EQ(scan.holders.size(), 2U);
    EXPECT_EQ(scan.holders.at("/dev/vfio/15").pid, 100);
    EXPECT_EQ(scan.holders.at("/dev/vfio/devices/vfio3").to_string(), "pid 200 (qemu-b)");
}

TEST(ProcScan, SeesANodeThatWasRemovedWhileItIsOpen) {
    FakeProc proc;
    proc.add(100, "qemu");
    proc.open(100, 5, "/dev/vfio/16 (deleted)");
    EXPECT_EQ(proc.scan(nodes).holders.at("/dev/vfio/16").pid, 100);
}

TEST(ProcScan, LooksAtTheThreadsOfALeaderWhoseOwnFilesAreGone) {
    FakeProc proc;
    proc.add(100, "qemu");
    proc.open_in_thread(100, 100, "/dev/null");
    proc.open_in_thread(100, 101, "/dev/vfio/15");
    EXPECT_EQ(proc.scan(nodes).holders.at("/dev/vfio/15").pid, 100);
}

TEST(ProcScan, TakesALongerNameForAnotherNode) {
    FakeProc proc;
    proc.add(100, "qemu");
    proc.open(100, 5, "/dev/vfio/155");
    EXPECT_TRUE(proc.scan(nodes).holders.empty());
}

// A match counts although something else could not be read.
TEST(ProcScan, SaysThatItIsIncompleteAndKeepsWhatItFound) {
    FakeProc proc;
    proc.add(100, "qemu");
    proc.open(100, 5, "/dev/vfio/15");
    write_file((proc.at(100) / "fd" / "6").string(), "not a link");
    const HolderScan scan = proc.scan(nodes);
    ASSERT_TRUE(scan.incomplete);
    EXPECT_THAT(scan.incomplete->text(), testing::HasSubstr("100/fd/6"));
    EXPECT_EQ(scan.holders.at("/dev/vfio/15").pid, 100);
}

TEST(ProcScan, IsIncompleteWhenThereIsNoProc) {
    EXPECT_TRUE(scan_holders(Proc("/no/such/proc"), nodes).incomplete);
    const TempDir empty;
    EXPECT_TRUE(scan_holders(Proc(empty.path().string()), nodes).incomplete);
}

TEST(ProcScan, FindsANodeByItsNumberUnderAnotherName) {
    // This very process has /dev/null open; /dev/zero's number is another.
    const TempDir directory;
    const std::string alias = directory / "alias";
    fs::create_symlink("/dev/null", alias);
    const int fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    ASSERT_GE(fd, 0);
    const HolderScan scan = scan_holders(Proc("/proc"), {alias});
    ::close(fd);
    EXPECT_EQ(scan.holders.count(alias), 1U);
}

// hypeman 3.4: a process without its fd directory is one that is ending, no failure of the scan
TEST(ProcScan, PassesOverAProcessWhoseFilesAreGone) {
    FakeProc proc;
    fs::create_directories(proc.at(100));
    proc.add(200, "qemu");
    proc.open(200, 5, "/dev/vfio/15");
    const HolderScan scan = proc.scan(nodes);
    EXPECT_FALSE(scan.incomplete);
    ASSERT_EQ(scan.holders.size(), 1U);
    EXPECT_EQ(scan.holders.at("/dev/vfio/15").pid, 200);
}

// hypeman 3.4
TEST(ProcScan, FindsAHolderWhileOtherProcessesComeAndGo) {
    const TempDir directory;
    const std::string node = fs::canonical(directory.path()).string() + "/node";
    write_file(node, "");
    const int fd = ::open(node.c_str(), O_RDONLY | O_CLOEXEC);
    ASSERT_GE(fd, 0);
    const pid_t parent = ::getpid();
    const pid_t churning = ::fork();
    ASSERT_GE(churning, 0);
    if (churning == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        ::close(fd);
        while (::getppid() == parent) {
            const pid_t short_lived = ::fork();
            if (short_lived == 0) {
                ::_exit(0);
            }
            ::waitpid(short_lived, nullptr, 0);
        }
        ::_exit(0);
    }
    for (int scan = 0; scan < 30; ++scan) {
        EXPECT_EQ(scan_holders(Proc("/proc"), {node}).holders.count(node), 1U);
    }
    ::kill(churning, SIGKILL);
    ::waitpid(churning, nullptr, 0);
    ::close(fd);
}

// hypeman 3.4
TEST(Proc, KnowsTheBootAndTheStartOfAProcessAndOfNoneThatIsAbsent) {
    const Proc proc("/proc");
    const std::string boot = proc.boot_id().value();
    EXPECT_EQ(proc.boot_id().value(), boot);
    const auto self = proc.start_time(::getpid());
    ASSERT_TRUE(self);
    ASSERT_TRUE(*self);
    EXPECT_GT(**self, 0U);
    for (const std::int64_t absent : {0, -1, 2147483647}) {
        const auto none = proc.start_time(absent);
        ASSERT_TRUE(none) << absent;
        EXPECT_FALSE(*none) << absent;
    }
}

} // namespace vgpu
