#include "agent/hypervisor/call_thread.hpp"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <utility>

namespace vgpu {

namespace {

std::atomic<int> lost_now{0};

} // namespace

/// Shared with the thread, which may outlive the object.
struct CallThread::State {
    std::mutex mutex;
    std::condition_variable changed;
    std::function<void()> job; ///< to be run, or running
    bool busy = false;         ///< a job waits or runs
    bool ended = false;        ///< no more jobs will come
    bool lost = false;         ///< nobody waits for the job any more

    void serve() {
        std::unique_lock lock(mutex);
        while (true) {
            changed.wait(lock, [this] { return ended || busy; });
            if (!busy) {
                return;
            }
            const auto run = std::exchange(job, nullptr);
            lock.unlock();
            run();
            lock.lock();
            busy = false;
            if (std::exchange(lost, false)) {
                --lost_now;
            }
            changed.notify_all();
        }
    }
};

CallThread::CallThread(std::string whom)
    : whom_(std::move(whom)), state_(std::make_shared<State>()) {
    thread_ = std::thread([state = state_] { state->serve(); });
}

CallThread::~CallThread() {
    {
        const std::lock_guard lock(state_->mutex);
        state_->ended = true;
        state_->changed.notify_all();
    }
    if (lost_) {
        thread_.detach();
    } else {
        thread_.join();
    }
}

int CallThread::lost_threads() {
    return lost_now;
}

Result<void> CallThread::run(std::function<void()> job, Deadline deadline) {
    std::unique_lock lock(state_->mutex);
    if (!lost_) {
        state_->job = std::move(job);
        state_->busy = true;
        state_->changed.notify_all();
        lost_ =
            !state_->changed.wait_for(lock, deadline.remaining(), [this] { return !state_->busy; });
        if (lost_) {
            state_->lost = true;
            ++lost_now;
        }
    }
    if (lost_) {
        return fail(ErrorCode::timeout, whom_ + " does not answer");
    }
    return {};
}

} // namespace vgpu
