#pragma once

#include "agent/cli/top_view.hpp"

#include <chrono>
#include <memory>
#include <string>

namespace vgpu::cli {

/// What `top` shows, looked at anew after every event of virt-vgpud and every few seconds, by
/// threads of its own: whoever draws it never waits for the daemon. Its functions are for one
/// thread.
class TopSource {
public:
    TopSource(const DaemonClient& daemon, TopAnswers first);
    /// The threads end by themselves, whatever they are waiting for.
    ~TopSource();
    TopSource(const TopSource&) = delete;
    TopSource& operator=(const TopSource&) = delete;

    /// Readable once there is something new; latest() makes it unreadable.
    [[nodiscard]] int fd() const;

    struct View {
        TopAnswers answers; ///< the last that there were
        std::string error;  ///< why there are no newer ones; empty if there are
    };
    [[nodiscard]] View latest();
    /// Looks now.
    void refresh();

private:
    struct State;
    std::shared_ptr<State> state_;
};

} // namespace vgpu::cli
