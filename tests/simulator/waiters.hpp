#pragma once

#include <sys/types.h>

#include <chrono>
#include <mutex>
#include <optional>
#include <vector>

namespace vgpu::simulator {

using Clock = std::chrono::steady_clock;

/// The operation on the file system that is being served: it holds the host's lock, and gives it
/// back only while it waits.
struct Call {
    std::unique_lock<std::mutex>& lock;
    pid_t thread; ///< of the caller
};

/// Lets operations wait for a change of the host, as writers wait inside a driver: a caller that
/// was killed with SIGKILL is let go, any other signal is not.
class Waiters {
public:
    enum class Outcome { woken, timed_out, killed };

    /// Gives the lock back until wake_all(), `until`, or the caller's death. With `killable` false
    /// not even that ends it (state D).
    Outcome wait(Call& call, std::optional<Clock::time_point> until, bool killable = true);
    /// The host has changed: everybody who waits looks again. Needs the host's lock.
    void wake_all();

private:
    std::vector<int> events_;
};

} // namespace vgpu::simulator
