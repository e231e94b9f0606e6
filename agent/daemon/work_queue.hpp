#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace vgpu {

/// Threads of their own for work that may block, behind a bounded queue: one kind of work that does
/// not get on holds up no other kind. Its functions may be called from any thread.
class WorkQueue {
public:
    WorkQueue(std::string name, unsigned threads, std::size_t most_waiting);
    WorkQueue(const WorkQueue&) = delete;
    WorkQueue& operator=(const WorkQueue&) = delete;
    /// What runs is left to itself and what waits is dropped, unless drain() has ended both.
    ~WorkQueue();

    /// False if the queue is full or closed: then `job` is not run. Does not block.
    [[nodiscard]] bool post(std::function<void()> job);
    /// Takes no more jobs and waits until all are done. False if the time was not enough.
    [[nodiscard]] bool drain(std::chrono::milliseconds patience);

    /// How long the job that has been running longest has been running; 0 if none is.
    [[nodiscard]] std::chrono::milliseconds longest() const;
    [[nodiscard]] std::size_t waiting() const;
    [[nodiscard]] const std::string& name() const;

private:
    struct State;
    std::shared_ptr<State> state_;
};

} // namespace vgpu
