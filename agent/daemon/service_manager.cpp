#include "agent/daemon/service_manager.hpp"

#include <fmt/format.h>
#include <systemd/sd-daemon.h>

#include <time.h>

#include <cstdint>

namespace vgpu::service_manager {

namespace {

void notify(const std::string& text) {
    static_cast<void>(sd_notify(0, text.c_str()));
}

std::string one_line(std::string text) {
    for (char& c : text) {
        c = c == '\n' ? ' ' : c;
    }
    return text;
}

} // namespace

void ready(const std::string& text) {
    notify("READY=1\nSTATUS=" + one_line(text));
}

void status(const std::string& text) {
    notify("STATUS=" + one_line(text));
}

void reloading() {
    // Type=notify-reload (systemd 253) tells this reload from an earlier one by the time.
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    constexpr std::int64_t million = 1000000;
    notify(
        fmt::format("RELOADING=1\nMONOTONIC_USEC={}", now.tv_sec * million + now.tv_nsec / 1000));
}

void stopping(std::chrono::seconds most) {
    notify(fmt::format("STOPPING=1\nEXTEND_TIMEOUT_USEC={}",
                       std::chrono::duration_cast<std::chrono::microseconds>(most).count()));
}

void alive() {
    notify("WATCHDOG=1");
}

std::optional<std::chrono::milliseconds> watchdog_interval() {
    std::uint64_t microseconds = 0;
    if (sd_watchdog_enabled(0, &microseconds) <= 0 || microseconds == 0) {
        return std::nullopt;
    }
    return std::chrono::milliseconds(microseconds / 2 / 1000);
}

Result<int> passed_socket() {
    const int count = sd_listen_fds(1);
    if (count > 1) {
        return fail(ErrorCode::invalid,
                    fmt::format("the service manager passed {} sockets; one is wanted, see "
                                "virt-vgpud.socket",
                                count));
    }
    return count == 1 ? SD_LISTEN_FDS_START : -1;
}

} // namespace vgpu::service_manager
