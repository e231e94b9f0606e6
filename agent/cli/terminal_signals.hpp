#pragma once

#include "agent/core/unique_fd.hpp"

#include <signal.h>

namespace vgpu::cli {

/// The signals that a terminal, or somebody who ends a program, sends: while it lives they are read
/// from a descriptor in place of their usual effect. To be made before other threads are.
class TerminalSignals {
public:
    TerminalSignals();
    ~TerminalSignals();
    TerminalSignals(const TerminalSignals&) = delete;
    TerminalSignals& operator=(const TerminalSignals&) = delete;

    /// Readable when there is one.
    [[nodiscard]] int fd() const { return fd_.get(); }
    /// The next one; 0 if there is none.
    [[nodiscard]] int take() const;

private:
    sigset_t before_{};
    UniqueFd fd_;
};

} // namespace vgpu::cli
