#include "agent/http/timers.hpp"

#include "agent/core/unique_fd.hpp"

#include <sys/timerfd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

namespace vgpu::http {

namespace net = boost::asio;

std::shared_ptr<Timers> Timers::create(net::io_context& context) {
    UniqueFd fd(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
    if (!fd) {
        throw std::system_error(errno, std::generic_category(), "create a timer");
    }
    std::shared_ptr<Timers> timers(new Timers(context, fd.get()));
    (void)fd.release();
    timers->wait();
    return timers;
}

void Timers::close() {
    for (const auto& [time, timer] : due_) {
        timer->due_ = {};
    }
    due_.clear();
    boost::system::error_code ignored;
    descriptor_.close(ignored);
}

void Timers::wait() {
    descriptor_.async_wait(net::posix::stream_descriptor::wait_read,
                           [self = shared_from_this()](const boost::system::error_code& error) {
                               if (!error && self->descriptor_.is_open()) {
                                   self->fire();
                               }
                           });
}

void Timers::fire() {
    std::uint64_t ticks = 0;
    // Fails if the timer was set anew since: then nothing may be due, and that is fine.
    (void)!::read(descriptor_.native_handle(), &ticks, sizeof ticks);
    armed_ = {};
    const auto now = Clock::now();
    while (!due_.empty() && due_.begin()->first <= now) {
        Timer* const timer = due_.begin()->second;
        due_.erase(due_.begin());
        timer->due_ = {};
        timer->expired_();
    }
    if (descriptor_.is_open()) {
        tell_kernel();
        wait();
    }
}

/// The steady clock is CLOCK_MONOTONIC.
void Timers::tell_kernel() {
    const auto first = due_.empty() ? Clock::time_point() : due_.begin()->first;
    if (first == armed_) {
        return;
    }
    const auto since = first.time_since_epoch();
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since);
    itimerspec when{};
    when.it_value.tv_sec = seconds.count();
    when.it_value.tv_nsec =
        std::chrono::duration_cast<std::chrono::nanoseconds>(since - seconds).count();
    ::timerfd_settime(descriptor_.native_handle(), TFD_TIMER_ABSTIME, &when, nullptr);
    armed_ = first;
}

void Timer::set(Timers::Clock::duration duration) {
    if (!timers_->descriptor_.is_open()) {
        return;
    }
    if (due_ != Timers::Clock::time_point()) {
        timers_->due_.erase({due_, this});
    }
    due_ = Timers::Clock::now() + duration;
    timers_->due_.emplace(due_, this);
    timers_->tell_kernel();
}

void Timer::cancel() {
    if (due_ == Timers::Clock::time_point()) {
        return;
    }
    timers_->due_.erase({due_, this});
    due_ = {};
    timers_->tell_kernel();
}

} // namespace vgpu::http
