#include "agent/core/hook_counters.hpp"
#include "tests/support/temp_dir.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

namespace vgpu {
namespace {

using std::chrono::milliseconds;

class HookCountersTest : public testing::Test {
protected:
    HookCountersTest() { paths_.runtime = directory_.path().string(); }
    [[nodiscard]] std::string file() const { return paths_.runtime + "/hook-counters.1"; }

    test::TempDir directory_;
    Config::Paths paths_;
};

TEST_F(HookCountersTest, AreAllZeroBeforeTheFirstRun) {
    const auto counters = read_hook_counters(paths_);
    ASSERT_TRUE(counters);
    EXPECT_EQ(counters->rows[0].ok + counters->rows[0].failed, 0U);
}

TEST_F(HookCountersTest, CountRunsByOperationResultAndDuration) {
    count_hook_run(paths_, "prepare", true, milliseconds(3));
    count_hook_run(paths_, "prepare", false, milliseconds(5));
    count_hook_run(paths_, "release", true, milliseconds(30000));
    const auto counters = read_hook_counters(paths_);
    ASSERT_TRUE(counters);
    const HookCounters::Row& prepare = counters->rows[0];
    EXPECT_EQ(prepare.ok, 1U);
    EXPECT_EQ(prepare.failed, 1U);
    EXPECT_EQ(prepare.durations[0], 2U);
    EXPECT_EQ(prepare.microseconds, 8000U);
    const HookCounters::Row& release = counters->rows[2];
    EXPECT_EQ(release.ok, 1U);
    EXPECT_EQ(release.durations.back(), 1U);
}

TEST_F(HookCountersTest, LoseNothingWhenManyRunAtOnce) {
    constexpr unsigned threads = 8;
    constexpr unsigned runs = 500;
    std::vector<std::thread> all;
    for (unsigned i = 0; i < threads; ++i) {
        all.emplace_back([this] {
            for (unsigned run = 0; run < runs; ++run) {
                count_hook_run(paths_, "prepare", true, milliseconds(1));
            }
        });
    }
    for (std::thread& thread : all) {
        thread.join();
    }
    EXPECT_EQ(read_hook_counters(paths_)->rows[0].ok, threads * runs);
}

TEST_F(HookCountersTest, ATroubleWithTheFileLosesTheCountOnly) {
    std::filesystem::create_directory(file());
    count_hook_run(paths_, "prepare", true, milliseconds(1));
    EXPECT_FALSE(read_hook_counters(paths_));
    std::filesystem::remove(file());
    std::filesystem::create_symlink("/dev/null", file());
    count_hook_run(paths_, "prepare", true, milliseconds(1));
    EXPECT_TRUE(std::filesystem::is_symlink(file()));
    paths_.runtime += "/is/not/there";
    count_hook_run(paths_, "prepare", true, milliseconds(1));
    EXPECT_FALSE(std::filesystem::exists(paths_.runtime));
}

TEST_F(HookCountersTest, AShortFileIsFilledUp) {
    std::ofstream(file()) << "x";
    EXPECT_EQ(read_hook_counters(paths_)->rows[1].ok, 0U);
    count_hook_run(paths_, "started", true, milliseconds(1));
    EXPECT_EQ(read_hook_counters(paths_)->rows[1].ok, 1U);
}

} // namespace
} // namespace vgpu
