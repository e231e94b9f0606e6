#include "agent/hypervisor/call_thread.hpp"

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <thread>

namespace vgpu::cli {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

} // namespace

TEST(CallThread, GivesTheResultOfTheCall) {
    CallThread thread("somebody");
    const auto sum = thread.call<int>([] { return Result<int>(42); }, Deadline::in(seconds(30)));
    EXPECT_EQ(sum.value(), 42);
}

TEST(CallThread, GivesTheErrorOfTheCall) {
    CallThread thread("somebody");
    const auto done = thread.call<void>(
        []() -> Result<void> { return fail(ErrorCode::denied, "no"); }, Deadline::in(seconds(30)));
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code(), ErrorCode::denied);
    EXPECT_FALSE(thread.lost());
}

TEST(CallThread, LeavesACallThatDoesNotComeBackAndEveryOneAfterIt) {
    auto release = std::make_shared<std::promise<void>>();
    auto over = std::make_shared<std::promise<void>>();
    {
        CallThread thread("the daemon");
        const auto stuck = thread.call<int>(
            [release, over] {
                release->get_future().wait();
                over->set_value();
                return Result<int>(1);
            },
            Deadline::in(milliseconds(50)));
        ASSERT_FALSE(stuck);
        EXPECT_EQ(stuck.error().code(), ErrorCode::timeout);
        EXPECT_EQ(stuck.error().text(), "the daemon does not answer");
        EXPECT_EQ(CallThread::lost_threads(), 1);
        const auto later =
            thread.call<int>([] { return Result<int>(2); }, Deadline::in(seconds(30)));
        ASSERT_FALSE(later);
        EXPECT_EQ(later.error().code(), ErrorCode::timeout);
    } // does not wait for the thread either
    release->set_value();
    over->get_future().wait();
    for (const Deadline deadline = Deadline::in(seconds(30));
         CallThread::lost_threads() != 0 && !deadline.passed();) {
        std::this_thread::yield();
    }
    EXPECT_EQ(CallThread::lost_threads(), 0); // it was lost only as long as the call was
}

} // namespace vgpu::cli
