#include "agent/cli/progress_line.hpp"

#include "agent/core/error.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace vgpu::cli {

namespace {

constexpr const char* clear_line = "\r\033[K";

bool is_capable_terminal() {
    const char* terminal = std::getenv("TERM");
    return ::isatty(STDERR_FILENO) == 1 && terminal != nullptr &&
           std::string_view(terminal) != "dumb";
}

/// Leaves room for the "..." of a text that was cut, and the last column, which some wrap at.
std::size_t room() {
    constexpr std::size_t usual = 80;
    constexpr std::size_t margin = 4;
    winsize size{};
    const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > margin;
    return (known ? size.ws_col : usual) - margin;
}

} // namespace

ProgressLine::ProgressLine() : terminal_(is_capable_terminal()) {}

ProgressLine::~ProgressLine() {
    if (shown_) {
        std::fputs(clear_line, stderr);
    }
}

void ProgressLine::show(const std::string& text) {
    if (terminal_) {
        std::fputs((clear_line + printable(text, room())).c_str(), stderr);
        shown_ = true;
    }
}

} // namespace vgpu::cli
