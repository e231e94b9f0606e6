#include "agent/daemon/work_queue.hpp"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace vgpu {

namespace {

using Clock = std::chrono::steady_clock;

} // namespace

/// Shared with the threads, which may outlive the object.
struct WorkQueue::State {
    std::string name;
    std::size_t most_waiting = 0;
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::function<void()>> jobs;
    std::vector<Clock::time_point> running; ///< when each running job began
    bool closed = false;

    void serve() {
        std::unique_lock lock(mutex);
        while (true) {
            changed.wait(lock, [this] { return closed || !jobs.empty(); });
            if (jobs.empty()) {
                return;
            }
            auto job = std::move(jobs.front());
            jobs.pop_front();
            const auto began = Clock::now();
            running.push_back(began);
            lock.unlock();
            job();
            job = nullptr; // what it owns ends before anybody is told that it is over
            lock.lock();
            running.erase(std::find(running.begin(), running.end(), began));
            changed.notify_all();
        }
    }
};

WorkQueue::WorkQueue(std::string name, unsigned threads, std::size_t most_waiting)
    : state_(std::make_shared<State>()) {
    state_->name = std::move(name);
    state_->most_waiting = most_waiting;
    // Signals are the loop's business.
    sigset_t all;
    sigset_t before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    for (unsigned i = 0; i < threads; ++i) {
        std::thread([state = state_] { state->serve(); }).detach();
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

WorkQueue::~WorkQueue() {
    const std::lock_guard lock(state_->mutex);
    state_->closed = true;
    state_->jobs.clear();
    state_->changed.notify_all();
}

bool WorkQueue::post(std::function<void()> job) {
    const std::lock_guard lock(state_->mutex);
    if (state_->closed || state_->jobs.size() >= state_->most_waiting) {
        return false;
    }
    state_->jobs.push_back(std::move(job));
    state_->changed.notify_all();
    return true;
}

bool WorkQueue::drain(std::chrono::milliseconds patience) {
    std::unique_lock lock(state_->mutex);
    state_->closed = true;
    state_->changed.notify_all();
    return state_->changed.wait_for(
        lock, patience, [this] { return state_->jobs.empty() && state_->running.empty(); });
}

std::chrono::milliseconds WorkQueue::longest() const {
    const std::lock_guard lock(state_->mutex);
    const auto first = std::min_element(state_->running.begin(), state_->running.end());
    return first == state_->running.end()
               ? std::chrono::milliseconds(0)
               : std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - *first);
}

std::size_t WorkQueue::waiting() const {
    const std::lock_guard lock(state_->mutex);
    return state_->jobs.size();
}

const std::string& WorkQueue::name() const {
    return state_->name;
}

} // namespace vgpu
