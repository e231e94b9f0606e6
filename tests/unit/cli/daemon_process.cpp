#include "tests/unit/cli/daemon_process.hpp"

#include "agent/core/unique_fd.hpp"
#include "tests/support/temp_dir.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string_view>

namespace vgpu::test {

namespace {

/// Where a service tells systemd that it is ready.
UniqueFd notify_socket(const std::string& path) {
    UniqueFd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
        throw std::runtime_error("no notification socket at " + path);
    }
    return fd;
}

void wait_until_ready(const UniqueFd& notifications) {
    constexpr int patience_ms = 60000;
    std::array<char, 4096> message{};
    while (true) {
        pollfd waiting{notifications.get(), POLLIN, 0};
        if (::poll(&waiting, 1, patience_ms) <= 0) {
            throw std::runtime_error("virt-vgpud does not become ready");
        }
        const ssize_t size = ::recv(notifications.get(), message.data(), message.size(), 0);
        const std::string_view text(message.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
        if (text.find("READY=1") != std::string_view::npos) {
            return;
        }
    }
}

} // namespace

DaemonProcess::DaemonProcess(const std::string& config) {
    const TempDir directory;
    const std::string path = directory / "notify";
    const UniqueFd notifications = notify_socket(path);
    pid_ = ::fork();
    if (pid_ == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        ::setenv("NOTIFY_SOCKET", path.c_str(), 1);
        ::execl(VGPU_DAEMON, VGPU_DAEMON, "--config", config.c_str(), nullptr);
        ::_exit(127);
    }
    wait_until_ready(notifications);
}

DaemonProcess::~DaemonProcess() {
    ::kill(pid_, SIGTERM);
    ::waitpid(pid_, nullptr, 0);
}

} // namespace vgpu::test
