#pragma once

#include "agent/cli/daemon_client.hpp"

#include <string>

namespace vgpu::cli {

/// A change that virt-vgpud is asked for.
struct ChangeRequest {
    http::ClientRequest request;
    std::string doing;   ///< "starting vm1"
    std::string command; ///< "start vm1", as it was typed, near enough
    /// What a person should know who repeats the command without knowing what became of it.
    std::string again;
};

/// Has virt-vgpud do it and waits until it is done; returns what it answers, null if nothing. On a
/// terminal a line says what is being waited for. What the daemon has begun it finishes, also when
/// this program is interrupted, which then says so and how to see it. Waits for as long as the
/// daemon says that the operation runs; each has its own bound there (180 s). Errors: as the
/// operation's; `unavailable` when the daemon ended meanwhile, so that nobody knows what became of
/// it.
[[nodiscard]] Result<Json> carry_out(const DaemonClient& daemon, ChangeRequest action);

/// The failure that a failed operation's "problem" tells.
[[nodiscard]] Error error_of_problem(const Json& problem);

} // namespace vgpu::cli
