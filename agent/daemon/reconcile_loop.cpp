#include "agent/daemon/reconcile_loop.hpp"

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <utility>

namespace vgpu {

using std::chrono::milliseconds;

struct ReconcileLoop::Timer {
    explicit Timer(http::Loop& loop) : timer(loop.context()) {}
    boost::asio::steady_timer timer;
};

std::shared_ptr<ReconcileLoop> ReconcileLoop::create(http::Loop& loop, WorkQueue& queue,
                                                     std::function<Outcome()> pass,
                                                     std::function<milliseconds()> interval,
                                                     Status& status, Times times) {
    return std::shared_ptr<ReconcileLoop>(
        new ReconcileLoop(loop, queue, std::move(pass), std::move(interval), status, times));
}

ReconcileLoop::ReconcileLoop(http::Loop& loop, WorkQueue& queue, std::function<Outcome()> pass,
                             std::function<milliseconds()> interval, Status& status, Times times)
    : loop_(loop), queue_(queue), pass_(std::move(pass)), interval_(std::move(interval)),
      status_(status), times_(times), timer_(std::make_shared<Timer>(loop)) {}

void ReconcileLoop::start() {
    begin();
}

void ReconcileLoop::request() {
    if (!requested_) {
        requested_ = Clock::now();
        schedule();
    }
}

void ReconcileLoop::stop() {
    stopped_ = true;
    timer_->timer.cancel();
}

ReconcileLoop::Clock::time_point ReconcileLoop::due() const {
    Clock::time_point due = last_end_ + interval_();
    if (failures_ > 0) {
        constexpr unsigned most_doublings = 10;
        due = std::min(due,
                       last_end_ + times_.retry * (1U << std::min(failures_ - 1, most_doublings)));
    }
    if (requested_) {
        due = std::min(due, std::max(*requested_ + times_.settle, last_end_ + times_.pause));
    }
    return due;
}

void ReconcileLoop::schedule() {
    if (running_ || stopped_) {
        return;
    }
    timer_->timer.expires_at(due());
    timer_->timer.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
        if (!error) {
            self->begin();
        }
    });
}

void ReconcileLoop::begin() {
    if (running_ || stopped_) {
        return;
    }
    running_ = true;
    serving_ = std::exchange(requested_, std::nullopt);
    const bool taken = queue_.post([self = shared_from_this()] {
        Outcome outcome;
        try {
            outcome = self->pass_();
        } catch (const std::exception&) {
            outcome.failed = true; // out of memory: the next one may have some
        }
        self->loop_.post([self, outcome] { self->end(outcome); });
    });
    if (!taken) {
        requested_ = std::exchange(serving_, std::nullopt);
        end({true, false}); // the queue is full of passes that somebody asks for
    }
}

void ReconcileLoop::end(Outcome outcome) {
    running_ = false;
    last_end_ = Clock::now();
    if (serving_) {
        status_.update([lag = std::chrono::duration_cast<milliseconds>(last_end_ - *serving_)](
                           Status::View& view) { view.event_lag = lag; });
        serving_.reset();
    }
    failures_ = outcome.failed ? failures_ + 1 : 0;
    // One that changes something each time must not become a loop of its own.
    constexpr unsigned most_repeats = 3;
    repeats_ = outcome.changed ? repeats_ + 1 : 0;
    if (outcome.changed && repeats_ <= most_repeats && !requested_) {
        requested_ = last_end_;
    }
    schedule();
}

} // namespace vgpu
