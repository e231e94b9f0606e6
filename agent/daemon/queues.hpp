#pragma once

#include "agent/daemon/work_queue.hpp"

#include <array>
#include <chrono>
#include <string>
#include <vector>

namespace vgpu {

/// The daemon's threads, by what they may have to wait for, so that a libvirt that does not answer
/// keeps waiting only what asks libvirt, and a driver only what asks that driver.
struct Queues {
    WorkQueue changes{"operations", 4, 256};  ///< lifecycle operations
    WorkQueue views{"views", 2, 64};          ///< looks at libvirt's domains
    WorkQueue host{"host", 2, 64};            ///< looks at devices and claims
    WorkQueue reconciles{"reconcile", 1, 16}; ///< passes, one after the other

    [[nodiscard]] std::array<WorkQueue*, 4> all() { return {&changes, &views, &host, &reconciles}; }
    /// Those whose work takes longer than any deadline in it allows, as text for people: a thread
    /// is lost there. Empty: all get on.
    [[nodiscard]] std::string stuck() const;
};

} // namespace vgpu
