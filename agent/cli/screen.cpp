#include "agent/cli/screen.hpp"

#include "agent/core/file_io.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string_view>

namespace vgpu::cli {

namespace {

// Alternate screen; cursor; wrapping of long lines. Understood by every terminal of today.
constexpr std::string_view take_over = "\033[?1049h\033[?25l\033[?7l";
constexpr std::string_view give_back = "\033[?7h\033[?25h\033[?1049l";

Result<void> write_out(std::string_view text) {
    return write_all(STDOUT_FILENO, text, "the terminal");
}

} // namespace

bool Screen::is_possible() {
    const char* terminal = std::getenv("TERM");
    return ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1 && terminal != nullptr &&
           *terminal != '\0' && std::string_view(terminal) != "dumb";
}

Result<void> Screen::enter() {
    if (::tcgetattr(STDIN_FILENO, &before_) != 0) {
        return fail(Error::system(errno, "read the settings of", "the terminal"));
    }
    termios settings = before_;
    settings.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    settings.c_cc[VMIN] = 1;
    settings.c_cc[VTIME] = 0;
    if (::tcsetattr(STDIN_FILENO, TCSADRAIN, &settings) != 0) {
        return fail(Error::system(errno, "change the settings of", "the terminal"));
    }
    entered_ = true;
    return write_out(take_over);
}

void Screen::leave() noexcept {
    if (entered_) {
        entered_ = false;
        (void)write_out(give_back);
        // What was typed and not read is not for the shell.
        (void)::tcsetattr(STDIN_FILENO, TCSAFLUSH, &before_);
    }
}

Result<void> Screen::draw(const std::string& text) const {
    constexpr std::string_view home = "\033[H";
    constexpr std::string_view clear_to_end_of_line = "\033[K";
    constexpr std::string_view clear_below = "\033[J";
    std::string out(home);
    std::string_view rest = text;
    for (std::size_t row = 0, most = rows(); row < most && !rest.empty(); ++row) {
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        out.append(row == 0 ? "" : "\r\n").append(rest.substr(0, end)).append(clear_to_end_of_line);
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return write_out(out.append(clear_below));
}

std::size_t Screen::rows() const {
    constexpr std::size_t usual = 24;
    winsize size{};
    return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 ? size.ws_row : usual;
}

} // namespace vgpu::cli
