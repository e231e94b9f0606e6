#pragma once

#include "agent/core/result.hpp"

#include <termios.h>

#include <cstddef>
#include <string>

namespace vgpu::cli {

/// The terminal of standard input and output, for a program that draws all of it: the alternate
/// screen, no cursor, no wrapping, keys at once and unseen. It is as it was before after leave(),
/// and when the object goes. Signals from the keyboard stay signals.
class Screen {
public:
    Screen() = default;
    ~Screen() { leave(); }
    Screen(const Screen&) = delete;
    Screen& operator=(const Screen&) = delete;

    /// Error: the terminal's settings cannot be read or changed; then it is as it was.
    [[nodiscard]] Result<void> enter();
    void leave() noexcept;
    /// Everything on the screen; lines beyond its end are left out. Error: the terminal is gone.
    [[nodiscard]] Result<void> draw(const std::string& text) const;
    /// Lines that it has now.
    [[nodiscard]] std::size_t rows() const;

    /// Standard input and output are a terminal that can do this.
    [[nodiscard]] static bool is_possible();

private:
    bool entered_ = false;
    termios before_{};
};

} // namespace vgpu::cli
