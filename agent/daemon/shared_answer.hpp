#pragma once

#include "agent/daemon/work_queue.hpp"
#include "agent/http/reply.hpp"

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace vgpu {

/// An answer that is the same for everybody who asks at the same time, and costs something to make:
/// however many ask, one is being made, and one more will be for those who asked meanwhile. Nobody
/// gets one whose making began before the question. May be used from any thread.
class SharedAnswer : public std::enable_shared_from_this<SharedAnswer> {
public:
    /// `make` runs on the queue's threads.
    static std::shared_ptr<SharedAnswer> create(WorkQueue& queue,
                                                std::function<http::Response()> make);

    void ask(http::Reply reply);

private:
    SharedAnswer(WorkQueue& queue, std::function<http::Response()> make);
    void run();

    WorkQueue& queue_;
    const std::function<http::Response()> make_;
    std::mutex mutex_;
    std::vector<http::Reply> waiting_;
    bool scheduled_ = false; ///< a run will take those who wait
};

} // namespace vgpu
