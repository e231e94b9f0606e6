#pragma once

#include "agent/core/deadline.hpp"
#include "agent/core/result.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

namespace vgpu {

/// A thread for calls that may never come back. The caller waits until a deadline; a call that is
/// not over by then is abandoned together with its thread, and every later call fails at once. What
/// a job uses it must own, since it may outlive its caller.
class CallThread {
public:
    /// `whom`: what has not answered, for the error: "the libvirt daemon at qemu:///system".
    explicit CallThread(std::string whom);
    CallThread(const CallThread&) = delete;
    CallThread& operator=(const CallThread&) = delete;
    ~CallThread();

    /// The result of `job`, run on the thread. Error: that of the job, or timeout.
    template <typename T>
    [[nodiscard]] Result<T> call(std::function<Result<T>()> job, Deadline deadline) {
        auto result = std::make_shared<std::optional<Result<T>>>();
        VGPU_TRY(run([job = std::move(job), result] { result->emplace(job()); }, deadline));
        return std::move(**result);
    }

    [[nodiscard]] bool lost() const { return lost_; }
    /// Threads of this process that are lost in a call which has not come back yet.
    [[nodiscard]] static int lost_threads();

private:
    struct State;

    [[nodiscard]] Result<void> run(std::function<void()> job, Deadline deadline);

    std::string whom_;
    std::shared_ptr<State> state_;
    std::thread thread_;
    bool lost_ = false;
};

} // namespace vgpu
