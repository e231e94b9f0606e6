#include "agent/core/posix_sysfs.hpp"
#include "agent/core/unique_fd.hpp"
#include "tests/unit/core/file_size_limit.hpp"
#include "tests/unit/core/test_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

namespace vgpu {
namespace {

using test::FileSizeLimit;
using test::TestFiles;
using testing::ElementsAre;

class PosixSysfsTest : public testing::Test {
protected:
    TestFiles dir_;
    PosixSysfs sysfs_{dir_.path()};
};

TEST_F(PosixSysfsTest, ReadsAnAttributeWithoutItsNewline) {
    dir_.write("vf/nvidia/current_vgpu_type", "1561\n");
    EXPECT_EQ(sysfs_.read("vf/nvidia/current_vgpu_type").value(), "1561");
}

TEST_F(PosixSysfsTest, ReadsAnEmptyAttributeAsAnEmptyText) {
    dir_.write("empty", "");
    dir_.write("newline", "\n");
    EXPECT_EQ(sysfs_.read("empty").value(), "");
    EXPECT_EQ(sysfs_.read("newline").value(), "");
}

TEST_F(PosixSysfsTest, KeepsNewlinesInsideAndBlanksAtTheEnd) {
    dir_.write("rows", "a\n\nb \n\n");
    EXPECT_EQ(sysfs_.read("rows").value(), "a\n\nb ");
}

TEST_F(PosixSysfsTest, SaysWhichFileCouldNotBeReadAndWhy) {
    const auto content = sysfs_.read("vf/nvidia/current_vgpu_type");
    ASSERT_FALSE(content);
    EXPECT_EQ(content.error().code(), ErrorCode::not_found);
    EXPECT_EQ(content.error().error_number(), ENOENT);
    EXPECT_EQ(content.error().text(),
              "read " + dir_.path() + "/vf/nvidia/current_vgpu_type: No such file or directory");
}

TEST_F(PosixSysfsTest, KeepsTheErrnoOfAnOpenThatTheDriverRefuses) {
    // Opening a socket's name is the one way to ENXIO without a driver.
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    const std::string path = dir_.path("placement_id");
    ASSERT_LT(path.size(), sizeof name.sun_path);
    std::copy(path.begin(), path.end(), name.sun_path);
    const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name), 0);

    const auto content = sysfs_.read("placement_id");
    ASSERT_FALSE(content);
    EXPECT_EQ(content.error().error_number(), ENXIO);
    EXPECT_EQ(sysfs_.write("placement_id", "0").error().error_number(), ENXIO);
}

TEST_F(PosixSysfsTest, KeepsTheErrnoOfAReadThatTheDriverRefuses) {
    const auto content = PosixSysfs("/proc").read("self/mem");
    ASSERT_FALSE(content);
    EXPECT_EQ(content.error().error_number(), EIO);
    EXPECT_EQ(content.error().code(), ErrorCode::io);
    EXPECT_EQ(sysfs_.read("").error().error_number(), EISDIR);
}

TEST_F(PosixSysfsTest, ReadsSixtyFourKibibytesAndNoMore) {
    dir_.write("most", std::string(64 * 1024, 'x'));
    dir_.write("more", std::string(64 * 1024 + 1, 'x'));
    EXPECT_EQ(sysfs_.read("most").value().size(), 64U * 1024);
    const auto content = sysfs_.read("more");
    ASSERT_FALSE(content);
    EXPECT_EQ(content.error().code(), ErrorCode::corrupt);
}

TEST_F(PosixSysfsTest, WritesIntoAnAttributeWithoutCreatingOrCuttingIt) {
    dir_.write("type", "1561\n");
    EXPECT_TRUE(sysfs_.write("type", "0"));
    EXPECT_EQ(dir_.read("type"), "0561\n");

    const auto written = sysfs_.write("missing", "0");
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().error_number(), ENOENT);
    EXPECT_EQ(written.error().text(),
              "write " + dir_.path() + "/missing: No such file or directory");
    EXPECT_FALSE(std::filesystem::exists(dir_.path("missing")));
}

TEST_F(PosixSysfsTest, KeepsTheErrnoOfAWriteThatTheDriverRefuses) {
    const auto written = PosixSysfs("/dev").write("full", "1150");
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().error_number(), ENOSPC);
    EXPECT_EQ(written.error().text(), "write /dev/full: No space left on device");
}

TEST_F(PosixSysfsTest, NeverWritesTheRestOfAShortWrite) {
    dir_.write("create", "");
    const FileSizeLimit limit(4);
    const auto written = sysfs_.write("create", "1234567890");
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().code(), ErrorCode::io);
    EXPECT_EQ(written.error().text(),
              "write " + dir_.path() + "/create: only 4 of 10 bytes were taken");
    EXPECT_EQ(dir_.read("create"), "1234");
}

TEST_F(PosixSysfsTest, ListsNamesInOrder) {
    for (const char* name : {"virtfn10", "virtfn9", "driver", ".hidden"}) {
        dir_.write(name, "");
    }
    EXPECT_THAT(sysfs_.list("").value(), ElementsAre(".hidden", "driver", "virtfn10", "virtfn9"));
}

TEST_F(PosixSysfsTest, TellsAMissingDirectoryFromAnEmptyOne) {
    std::filesystem::create_directory(dir_.path("empty"));
    EXPECT_TRUE(sysfs_.list("empty").value().empty());
    EXPECT_EQ(sysfs_.list("missing").error().error_number(), ENOENT);
    dir_.write("file", "");
    EXPECT_EQ(sysfs_.list("file").error().error_number(), ENOTDIR);
}

TEST_F(PosixSysfsTest, ReadsALinkAsWritten) {
    std::filesystem::create_symlink("../0000:41:00.0", dir_.path("physfn"));
    EXPECT_EQ(sysfs_.read_link("physfn").value(), "../0000:41:00.0");
    EXPECT_EQ(sysfs_.read_link("missing").error().error_number(), ENOENT);
    dir_.write("file", "");
    EXPECT_EQ(sysfs_.read_link("file").error().error_number(), EINVAL);
}

TEST_F(PosixSysfsTest, KnowsWhatExists) {
    dir_.write("vf/file", "");
    std::filesystem::create_symlink("nowhere", dir_.path("dangling"));
    EXPECT_TRUE(sysfs_.exists("vf").value());
    EXPECT_TRUE(sysfs_.exists("vf/file").value());
    EXPECT_FALSE(sysfs_.exists("vf/missing").value());
    EXPECT_FALSE(sysfs_.exists("vf/file/below").value());
    EXPECT_FALSE(sysfs_.exists("dangling").value());
}

TEST_F(PosixSysfsTest, NeverTakesAnErrorForAbsence) {
    std::filesystem::create_symlink("loop", dir_.path("loop"));
    const auto exists = sysfs_.exists("loop");
    ASSERT_FALSE(exists);
    EXPECT_EQ(exists.error().error_number(), ELOOP);
}

} // namespace
} // namespace vgpu
