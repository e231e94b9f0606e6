#pragma once

#include "agent/daemon/status.hpp"
#include "agent/daemon/work_queue.hpp"
#include "agent/http/loop.hpp"

#include <chrono>
#include <functional>
#include <memory>

namespace vgpu {

/// Decides when a reconcile pass is made: at the start, some time after whatever may need one, and
/// at the interval; sooner after one in which something failed. Passes never overlap, and between
/// two there is time for everybody else. Works on the loop's thread only.
class ReconcileLoop : public std::enable_shared_from_this<ReconcileLoop> {
public:
    using Clock = std::chrono::steady_clock;

    /// What a pass says of itself.
    struct Outcome {
        bool failed = false;  ///< something could not be done: tried again soon
        bool changed = false; ///< a further pass may find more to do
    };
    struct Times {
        std::chrono::milliseconds settle{
            300}; ///< from a request to its pass: events come in bursts
        std::chrono::milliseconds pause{1000}; ///< from the end of a pass to the next
        std::chrono::milliseconds retry{5000}; ///< after a failure; doubled each time
    };

    /// `pass` runs on the queue's thread; `interval` is asked each time.
    static std::shared_ptr<ReconcileLoop>
    create(http::Loop& loop, WorkQueue& queue, std::function<Outcome()> pass,
           std::function<std::chrono::milliseconds()> interval, Status& status, Times times);
    static std::shared_ptr<ReconcileLoop>
    create(http::Loop& loop, WorkQueue& queue, std::function<Outcome()> pass,
           std::function<std::chrono::milliseconds()> interval, Status& status) {
        return create(loop, queue, std::move(pass), std::move(interval), status, Times());
    }

    /// The first pass begins at once.
    void start();
    /// Something may have changed: a pass is made soon.
    void request();
    /// The interval may have changed.
    void reschedule() { schedule(); }
    /// No pass begins after this.
    void stop();

private:
    struct Timer;

    ReconcileLoop(http::Loop& loop, WorkQueue& queue, std::function<Outcome()> pass,
                  std::function<std::chrono::milliseconds()> interval, Status& status, Times times);
    [[nodiscard]] Clock::time_point due() const;
    void schedule();
    void begin();
    void end(Outcome outcome);

    http::Loop& loop_;
    WorkQueue& queue_;
    std::function<Outcome()> pass_;
    std::function<std::chrono::milliseconds()> interval_;
    Status& status_;
    const Times times_;
    std::shared_ptr<Timer> timer_;
    std::optional<Clock::time_point> requested_; ///< when the first request not served yet came
    std::optional<Clock::time_point> serving_;   ///< the same of those the running pass serves
    Clock::time_point last_end_;
    unsigned failures_ = 0; ///< passes with failures, one after the other
    unsigned repeats_ = 0;  ///< passes made only since the one before changed something
    bool running_ = false;
    bool stopped_ = false;
};

} // namespace vgpu
