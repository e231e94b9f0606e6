#include "agent/core/file_io.hpp"
#include "agent/core/unique_fd.hpp"
#include "tests/unit/core/file_size_limit.hpp"
#include "tests/unit/core/test_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <optional>
#include <thread>

namespace vgpu {
namespace {

using test::FileSizeLimit;
using test::TestFiles;
using testing::HasSubstr;

TEST(ReadSmallFile, ReturnsTheContentUnchanged) {
    const TestFiles dir;
    const std::string content("a\0b\n\n", 5);
    EXPECT_EQ(read_small_file(dir.write("file", content), 100).value(), content);
    EXPECT_EQ(read_small_file(dir.write("empty", ""), 100).value(), "");
}

TEST(ReadSmallFile, ReadsUpToItsLimitAndNoMore) {
    const TestFiles dir;
    for (const std::size_t limit : {0U, 1U, 4095U, 4096U, 4097U, 100000U}) {
        const std::string content(limit, 'x');
        EXPECT_EQ(read_small_file(dir.write("most", content), limit).value(), content);
        const auto more = read_small_file(dir.write("more", content + "x"), limit);
        ASSERT_FALSE(more) << limit;
        EXPECT_EQ(more.error().code(), ErrorCode::corrupt);
    }
}

TEST(ReadSmallFile, ReadsFilesOfProcWhoseSizeIsZero) {
    EXPECT_THAT(read_small_file("/proc/self/status", 64 * 1024).value(), HasSubstr("VmRSS:"));
}

TEST(ReadSmallFile, SaysWhatIsMissing) {
    const TestFiles dir;
    const auto content = read_small_file(dir.path("missing"), 100);
    ASSERT_FALSE(content);
    EXPECT_EQ(content.error().code(), ErrorCode::not_found);
    EXPECT_EQ(content.error().error_number(), ENOENT);
    EXPECT_THAT(content.error().text(), HasSubstr(dir.path("missing")));
}

TEST(ReadSmallFile, NeverWaitsForTheWriterOfAFifo) {
    const TestFiles dir;
    ASSERT_EQ(::mkfifo(dir.path("fifo").c_str(), 0600), 0);
    const auto content = read_small_file(dir.path("fifo"), 100);
    ASSERT_FALSE(content);
    EXPECT_EQ(content.error().code(), ErrorCode::invalid);
}

TEST(ReadSmallFile, RefusesDirectoriesAndDevices) {
    const TestFiles dir;
    EXPECT_EQ(read_small_file(dir.path(), 100).error().error_number(), EISDIR);
    EXPECT_EQ(read_small_file("/dev/zero", 100).error().code(), ErrorCode::invalid);
}

std::atomic<int> signals_seen = 0;

TEST(ReadDescriptor, TakesUpAnInterruptedRead) {
    struct sigaction action{};
    struct sigaction before{};
    action.sa_handler = [](int) { ++signals_seen; };
    ASSERT_EQ(::sigaction(SIGUSR1, &action, &before), 0);
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    const UniqueFd reading(ends[0]);
    UniqueFd writing(ends[1]);

    std::optional<Result<std::string>> content;
    std::atomic<bool> ended = false;
    std::thread reader([&] {
        content = read_descriptor(reading.get(), "pipe", 100);
        ended = true;
    });
    for (int sent = 0; sent < 50; ++sent) {
        const int seen = signals_seen;
        ::pthread_kill(reader.native_handle(), SIGUSR1);
        while (signals_seen == seen && !ended) {
            std::this_thread::yield();
        }
    }
    EXPECT_EQ(::write(writing.get(), "ready", 5), 5);
    writing.reset();
    reader.join();
    ::sigaction(SIGUSR1, &before, nullptr);
    ASSERT_TRUE(content->has_value()) << content->error().text();
    EXPECT_EQ(content->value(), "ready");
}

mode_t mode_of(const std::string& path) {
    struct stat status{};
    return ::stat(path.c_str(), &status) == 0 ? status.st_mode & 07777 : 0;
}

TEST(ReplaceFile, CreatesAFileWithTheWantedModeWhateverTheUmask) {
    const TestFiles dir;
    const mode_t before = ::umask(077);
    const auto done = replace_file(dir.path("claim.json"), "{}", 0644);
    ::umask(before);
    ASSERT_TRUE(done) << done.error().text();
    EXPECT_EQ(dir.read("claim.json"), "{}");
    EXPECT_EQ(mode_of(dir.path("claim.json")), 0644U);
    EXPECT_EQ(dir.entries(), 1);
}

TEST(ReplaceFile, ReplacesContentAndModeOfAnOldFile) {
    const TestFiles dir;
    ASSERT_TRUE(replace_file(dir.path("file"), "a long old content", 0644));
    ASSERT_TRUE(replace_file(dir.path("file"), "new", 0600));
    EXPECT_EQ(dir.read("file"), "new");
    EXPECT_EQ(mode_of(dir.path("file")), 0600U);
    EXPECT_EQ(dir.entries(), 1);
}

TEST(ReplaceFile, LeavesAnOpenReaderItsOldContent) {
    const TestFiles dir;
    const std::string path = dir.write("file", "old");
    const UniqueFd reader(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    ASSERT_TRUE(replace_file(path, "new", 0600));
    EXPECT_EQ(read_descriptor(reader.get(), path, 100).value(), "old");
}

TEST(ReplaceFile, ReplacesALinkAndNotWhatItPointsTo) {
    const TestFiles dir;
    dir.write("target", "precious");
    std::filesystem::create_symlink("target", dir.path("link"));
    ASSERT_TRUE(replace_file(dir.path("link"), "new", 0600));
    EXPECT_EQ(dir.read("target"), "precious");
    EXPECT_EQ(dir.read("link"), "new");
}

TEST(ReplaceFile, KeepsTheOldContentWhenTheDiskIsFull) {
    const TestFiles dir;
    dir.write("file", "old");
    const std::string big(10000, 'x');
    {
        const FileSizeLimit limit(4096);
        const auto done = replace_file(dir.path("file"), big, 0600);
        ASSERT_FALSE(done);
        EXPECT_EQ(done.error().error_number(), EFBIG);
    }
    EXPECT_EQ(dir.read("file"), "old");
    EXPECT_EQ(dir.entries(), 1);
}

TEST(ReplaceFile, LeavesNothingBehindWhenTheRenameIsRefused) {
    const TestFiles dir;
    dir.write("taken/by", "a directory");
    const auto done = replace_file(dir.path("taken"), "new", 0600);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().error_number(), EISDIR);
    EXPECT_EQ(dir.entries(), 1);
    EXPECT_EQ(dir.read("taken/by"), "a directory");
}

TEST(ReplaceFile, SaysThatTheDirectoryIsMissing) {
    const TestFiles dir;
    const auto done = replace_file(dir.path("missing/file"), "new", 0600);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code(), ErrorCode::not_found);
    EXPECT_THAT(done.error().text(), HasSubstr(dir.path("missing")));
}

TEST(ReplaceFile, ShowsReadersOneWholeContentAmongTwoWriters) {
    const TestFiles dir;
    const std::string path = dir.path("file");
    const std::string first(20000, 'a');
    const std::string second(30000, 'b');
    ASSERT_TRUE(replace_file(path, first, 0600));
    const auto write_often = [&path](const std::string& content) {
        for (int i = 0; i < 50; ++i) {
            EXPECT_TRUE(replace_file(path, content, 0600));
        }
    };
    std::thread one(write_often, first);
    std::thread two(write_often, second);
    for (int i = 0; i < 500; ++i) {
        const auto content = read_small_file(path, 100000);
        EXPECT_TRUE(content && (*content == first || *content == second));
    }
    one.join();
    two.join();
    EXPECT_EQ(dir.entries(), 1);
}

} // namespace
} // namespace vgpu
