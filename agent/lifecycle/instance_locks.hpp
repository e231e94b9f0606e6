#pragma once

#include "agent/core/deadline.hpp"
#include "agent/core/result.hpp"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <string>

namespace vgpu {

/// The instance locks of docs/protocol.md: one operation at a time for each domain. In the memory
/// of the process that is the instance owner. The first of the locks in the order instance,
/// allocation, device. May be used by any number of threads.
class InstanceLocks {
public:
    /// Given back when the last copy ends.
    using Held = std::shared_ptr<void>;

    /// Null if somebody has it. `name`: a domain's UUID as text, or the name of one that is to be
    /// made. Does not wait.
    [[nodiscard]] Held try_lock(const std::string& name);
    /// Waits until the deadline. Error: busy.
    [[nodiscard]] Result<Held> lock(const std::string& name, Deadline deadline);

private:
    struct State {
        std::mutex mutex;
        std::condition_variable freed;
        std::set<std::string> held;
    };
    [[nodiscard]] Held hold(const std::string& name) const;

    std::shared_ptr<State> state_ = std::make_shared<State>();
};

} // namespace vgpu
