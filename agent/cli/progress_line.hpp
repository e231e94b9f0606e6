#pragma once

#include <string>

namespace vgpu::cli {

/// One line on standard error that says what is being waited for, while it lives; on a terminal
/// only.
class ProgressLine {
public:
    ProgressLine();
    ~ProgressLine();
    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;

    /// In place of what it said before; cut to the terminal's width.
    void show(const std::string& text);

private:
    bool terminal_;
    bool shown_ = false;
};

} // namespace vgpu::cli
