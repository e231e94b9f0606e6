#pragma once

#include "agent/core/result.hpp"

#include <chrono>
#include <optional>
#include <string>

namespace vgpu {

/// What systemd wants to know of a service, and gives it. Without systemd nothing happens.
namespace service_manager {

/// Ready to serve; `status` is the line that `systemctl status` shows.
void ready(const std::string& status);
void status(const std::string& text);
/// Rereads its configuration; ready() ends that.
void reloading();
/// Ends within the given time.
void stopping(std::chrono::seconds most);
/// It lives.
void alive();

/// How often alive() has to be called, half of what the unit says; nullopt: not wanted.
[[nodiscard]] std::optional<std::chrono::milliseconds> watchdog_interval();
/// The socket that the unit passed on; -1 if it passed none. Error: it passed several.
[[nodiscard]] Result<int> passed_socket();

} // namespace service_manager

} // namespace vgpu
