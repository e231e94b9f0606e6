#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <utility>

namespace vgpu::http {

class Timer;

/// The deadlines of one server, on one timer of the kernel's that is off while there are none.
///
/// Asio's timers would do but for idleness: one that is cancelled still wakes the loop, and from
/// then on Asio 1.74 wakes it every five minutes. For the loop's thread only.
class Timers : public std::enable_shared_from_this<Timers> {
public:
    using Clock = std::chrono::steady_clock;

    /// Throws std::system_error without a descriptor left.
    static std::shared_ptr<Timers> create(boost::asio::io_context& context);
    /// No timer fires after it, and none can be set.
    void close();

private:
    friend class Timer;
    using Due = std::set<std::pair<Clock::time_point, Timer*>>;

    Timers(boost::asio::io_context& context, int fd) : descriptor_(context, fd) {}
    void wait();
    void fire();
    void tell_kernel();

    boost::asio::posix::stream_descriptor descriptor_;
    Due due_;
    Clock::time_point armed_; ///< the epoch: off
};

/// One deadline that can be set again and again. Its owner may drop it at any time except within
/// the callback.
class Timer {
public:
    Timer(std::shared_ptr<Timers> timers, std::function<void()> expired)
        : timers_(std::move(timers)), expired_(std::move(expired)) {}
    Timer(const Timer&) = delete;
    Timer& operator=(const Timer&) = delete;
    ~Timer() { cancel(); }

    /// Calls `expired` once after `duration`, unless set again or cancelled before.
    void set(Timers::Clock::duration duration);
    /// After it, `expired` is not called.
    void cancel();

private:
    friend class Timers;
    std::shared_ptr<Timers> timers_;
    std::function<void()> expired_;
    Timers::Clock::time_point due_; ///< the epoch: not set
};

} // namespace vgpu::http
