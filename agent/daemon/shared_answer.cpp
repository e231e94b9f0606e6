#include "agent/daemon/shared_answer.hpp"

#include "agent/daemon/api.hpp"

#include <algorithm>
#include <utility>

namespace vgpu {

std::shared_ptr<SharedAnswer> SharedAnswer::create(WorkQueue& queue,
                                                   std::function<http::Response()> make) {
    return std::shared_ptr<SharedAnswer>(new SharedAnswer(queue, std::move(make)));
}

SharedAnswer::SharedAnswer(WorkQueue& queue, std::function<http::Response()> make)
    : queue_(queue), make_(std::move(make)) {}

void SharedAnswer::ask(http::Reply reply) {
    std::vector<http::Reply> refused;
    {
        const std::lock_guard lock(mutex_);
        waiting_.push_back(std::move(reply));
        if (!scheduled_) {
            scheduled_ = queue_.post([self = shared_from_this()] { self->run(); });
        }
        if (!scheduled_) {
            refused.swap(waiting_);
        }
    }
    for (http::Reply& each : refused) {
        each(too_much_to_do(queue_));
    }
}

void SharedAnswer::run() {
    std::vector<http::Reply> asked;
    {
        const std::lock_guard lock(mutex_);
        scheduled_ = false;
        asked.swap(waiting_);
    }
    if (std::all_of(asked.begin(), asked.end(),
                    [](const http::Reply& reply) { return reply.abandoned(); })) {
        return;
    }
    const http::Response response = guarded(make_);
    for (http::Reply& each : asked) {
        each(response);
    }
}

} // namespace vgpu
