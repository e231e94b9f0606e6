#include "agent/lifecycle/instance_locks.hpp"

namespace vgpu {

InstanceLocks::Held InstanceLocks::hold(const std::string& name) const {
    state_->held.insert(name);
    return Held(state_.get(), [state = state_, name](void*) {
        const std::lock_guard guard(state->mutex);
        state->held.erase(name);
        state->freed.notify_all();
    });
}

InstanceLocks::Held InstanceLocks::try_lock(const std::string& name) {
    const std::lock_guard guard(state_->mutex);
    return state_->held.contains(name) ? nullptr : hold(name);
}

Result<InstanceLocks::Held> InstanceLocks::lock(const std::string& name, Deadline deadline) {
    std::unique_lock guard(state_->mutex);
    const bool free = state_->freed.wait_for(guard, deadline.remaining(),
                                             [&] { return !state_->held.contains(name); });
    if (!free) {
        return fail(ErrorCode::busy, "another operation on domain " + printable(name) +
                                         " is under way and has not ended in time");
    }
    return hold(name);
}

} // namespace vgpu
