#include "hooks/surroundings.hpp"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>

namespace vgpu {

void keep_standard_files_only() {
    for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (::fcntl(standard, F_GETFD) < 0) {
            // The lowest free number, which is this one: those below it are open by now.
            const int opened = ::open("/dev/null", O_RDWR);
            static_cast<void>(opened);
        }
    }
    ::close_range(STDERR_FILENO + 1, ~0U, 0);
}

void write_message(std::string_view text, std::chrono::milliseconds patience) {
    // A pipe that poll(2) says can be written takes PIPE_BUF bytes at once (pipe(7)).
    while (!text.empty()) {
        pollfd ready{STDERR_FILENO, POLLOUT, 0};
        if (::poll(&ready, 1, static_cast<int>(patience.count())) <= 0 ||
            (ready.revents & POLLOUT) == 0) {
            return;
        }
        const ssize_t taken =
            ::write(STDERR_FILENO, text.data(), std::min<std::size_t>(text.size(), PIPE_BUF));
        if (taken <= 0) {
            return;
        }
        text.remove_prefix(static_cast<std::size_t>(taken));
    }
}

} // namespace vgpu
