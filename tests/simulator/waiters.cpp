#include "tests/simulator/waiters.hpp"

#define FUSE_USE_VERSION 31
#include <fmt/format.h>
#include <fuse3/fuse.h>

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>

namespace vgpu::simulator {

namespace {

constexpr auto recheck = std::chrono::milliseconds(20);

/// True if SIGKILL is pending for the thread, or it is gone. FUSE says only that some signal came,
/// and only for the first one; a driver that waits killably cares for SIGKILL alone.
bool is_killed(pid_t thread) {
    std::ifstream status(fmt::format("/proc/{}/status", thread));
    if (!status) {
        return true;
    }
    std::string line;
    while (std::getline(status, line)) {
        if (line.starts_with("SigPnd:") || line.starts_with("ShdPnd:")) {
            if ((std::strtoull(line.c_str() + 7, nullptr, 16) >> (SIGKILL - 1) & 1U) != 0) {
                return true;
            }
        }
    }
    return false;
}

/// One per serving thread, kept for its life.
class Event {
public:
    Event() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
    ~Event() { close(fd_); }
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
    [[nodiscard]] int fd() const { return fd_; }
    void clear() const {
        std::uint64_t count = 0;
        while (read(fd_, &count, sizeof(count)) > 0) {
        }
    }

private:
    int fd_;
};

/// Sleeps on `fd`; libfuse's signal for an interrupted request is let in only here, so none is
/// missed.
bool sleep_on(int fd, std::optional<std::chrono::nanoseconds> time) {
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    sigdelset(&mask, SIGUSR1);
    pollfd entry{.fd = fd, .events = POLLIN, .revents = 0};
    timespec limit{};
    if (time) {
        const auto nanoseconds = std::max<std::int64_t>(time->count(), 0);
        limit = {.tv_sec = nanoseconds / 1'000'000'000, .tv_nsec = nanoseconds % 1'000'000'000};
    }
    return ppoll(&entry, 1, time ? &limit : nullptr, &mask) > 0;
}

} // namespace

Waiters::Outcome Waiters::wait(Call& call, std::optional<Clock::time_point> until, bool killable) {
    thread_local const Event event;
    event.clear();
    events_.push_back(event.fd());
    call.lock.unlock();
    auto outcome = Outcome::woken;
    bool signalled = false;
    while (true) {
        std::optional<std::chrono::nanoseconds> time;
        if (until) {
            time = *until - Clock::now();
        }
        if (signalled) {
            time = std::min<std::chrono::nanoseconds>(time.value_or(recheck), recheck);
        }
        if (sleep_on(event.fd(), time)) {
            break;
        }
        signalled = signalled || (killable && fuse_interrupted() != 0);
        if (signalled && is_killed(call.thread)) {
            outcome = Outcome::killed;
            break;
        }
        if (until && Clock::now() >= *until) {
            outcome = Outcome::timed_out;
            break;
        }
    }
    call.lock.lock();
    std::erase(events_, event.fd());
    return outcome;
}

void Waiters::wake_all() {
    for (const int event : events_) {
        const std::uint64_t one = 1;
        [[maybe_unused]] const auto written = write(event, &one, sizeof(one));
    }
}

} // namespace vgpu::simulator
