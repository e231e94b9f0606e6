#pragma once

#include "agent/cli/daemon_client.hpp"

#include <functional>
#include <string>

namespace vgpu::cli {

/// An id that no event has: the daemon answers it with "resync" as soon as the stream is open.
inline constexpr const char* no_event = "none";

/// How events of virt-vgpud are followed, across its restarts.
struct EventFollow {
    std::string since;  ///< id of the last event seen; empty: only what comes from now on
    int cancel_fd = -1; ///< ends it when it becomes readable
    /// Takes an event; false ends it.
    std::function<bool(const http::ReceivedEvent&)> each;
    /// Called when the stream has ended and is about to be taken up again, once until it has been,
    /// with the reason.
    std::function<void(const std::string&)> interrupted;
};

/// Calls `each` with every event, until it says no or `cancel_fd` is readable. When the stream ends
/// it goes on after the last event seen; a daemon that was restarted has forgotten that one, and
/// sends "resync" first. Waits for a daemon that has gone for as long as it takes, with pauses up
/// to 5 s. Error: the first connection could not be made, or one is refused by what will not pass
/// (`denied`, `invalid`, ...).
[[nodiscard]] Result<void> follow_events(const DaemonClient& daemon, EventFollow follow);

} // namespace vgpu::cli
