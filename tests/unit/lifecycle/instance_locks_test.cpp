#include "agent/lifecycle/instance_locks.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace vgpu {

TEST(InstanceLocks, AreHeldByOneAtATime) {
    InstanceLocks locks;
    auto held = locks.try_lock("vm1");
    ASSERT_TRUE(held);
    EXPECT_FALSE(locks.try_lock("vm1"));
    EXPECT_TRUE(locks.try_lock("vm2"));
    const auto copy = held;
    held.reset();
    EXPECT_FALSE(locks.try_lock("vm1"));
}

TEST(InstanceLocks, AreWaitedForUntilTheDeadline) {
    InstanceLocks locks;
    const auto held = locks.try_lock("vm1");
    const auto refused = locks.lock("vm1", Deadline::in(std::chrono::milliseconds(1)));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), ErrorCode::busy);
}

TEST(InstanceLocks, WakeAWaiterWhenTheyAreGivenBack) {
    InstanceLocks locks;
    auto held = locks.try_lock("vm1");
    std::thread waiter(
        [&locks] { EXPECT_TRUE(locks.lock("vm1", Deadline::in(std::chrono::seconds(60)))); });
    held.reset();
    waiter.join();
}

} // namespace vgpu
