#include "agent/http/client_socket.hpp"

#include "agent/http/socket_address.hpp"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <utility>
#include <vector>

namespace vgpu::http {

namespace {

/// The name of the group that may use the socket; empty if it cannot be found out.
std::string group_of(const std::string& path) {
    struct stat found{};
    std::vector<char> buffer(std::size_t{64} << 10U);
    group entry{};
    group* result = nullptr;
    if (::stat(path.c_str(), &found) != 0 ||
        ::getgrgid_r(found.st_gid, &entry, buffer.data(), buffer.size(), &result) != 0 ||
        result == nullptr) {
        return {};
    }
    return result->gr_name;
}

Error connect_error(int number, const std::string& path) {
    const Error error = Error::system(number, "connect", path);
    switch (number) {
    case ENOENT:
    case ECONNREFUSED:
        return Error(ErrorCode::unavailable, "virt-vgpud is not running: " + error.text(), number)
            .hint("start it with `systemctl start virt-vgpud`");
    case EACCES:
    case EPERM: {
        const std::string group = group_of(path);
        return error.hint(group.empty()
                              ? "run this as root"
                              : "run this as root or as a member of group '" + group + "'");
    }
    case EAGAIN:
        return Error(ErrorCode::timeout, "virt-vgpud does not accept connections on " + path,
                     number)
            .hint("look at `journalctl -u virt-vgpud`");
    default:
        return error;
    }
}

Error timed_out() {
    return Error(ErrorCode::timeout, "virt-vgpud did not answer in time")
        .hint("what was asked may still be done; look at `journalctl -u virt-vgpud`");
}

} // namespace

Result<ClientSocket> ClientSocket::connect(const std::string& path, Deadline deadline) {
    VGPU_TRY_ASSIGN(const sockaddr_un address, socket_address(path));
    UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!fd) {
        return fail(Error::system(errno, "create", "a Unix socket"));
    }
    // A full queue makes a non-blocking connect() fail at once and poll() never tells when there
    // is room: let the kernel wait, for which the send timeout counts. Zero would mean for ever.
    const auto wait =
        std::max<std::chrono::microseconds>(deadline.remaining(), std::chrono::milliseconds(1));
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(wait);
    timeval timeout{};
    timeout.tv_sec = seconds.count();
    timeout.tv_usec = (wait - seconds).count();
    (void)::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
    int error = 0;
    do {
        error = ::connect(fd.get(), as_sockaddr(address), sizeof address) == 0 ? 0 : errno;
    } while (error == EINTR && !deadline.passed());
    if (error != 0) {
        return fail(connect_error(error, path));
    }
    const int flags = ::fcntl(fd.get(), F_GETFL);
    if (flags < 0 || ::fcntl(fd.get(), F_SETFL, flags | O_NONBLOCK) != 0) {
        return fail(Error::system(errno, "set up the connection to", path));
    }
    return ClientSocket(std::move(fd));
}

/// False if `cancel_fd` came first.
Result<bool> ClientSocket::wait(short events, Deadline deadline, int cancel_fd) {
    while (true) {
        std::array<pollfd, 2> fds{{{fd_.get(), events, 0}, {cancel_fd, POLLIN, 0}}};
        const auto left =
            std::min<std::int64_t>(deadline.remaining().count(), std::numeric_limits<int>::max());
        const int ready = ::poll(fds.data(), fds.size(), static_cast<int>(left));
        if (ready < 0 && errno != EINTR) {
            return fail(Error::system(errno, "wait for", "virt-vgpud"));
        }
        if (ready > 0) {
            return fds[1].revents == 0;
        }
        if (deadline.passed()) {
            return fail(timed_out());
        }
    }
}

Result<void> ClientSocket::send(std::string_view bytes, Deadline deadline) {
    while (!bytes.empty()) {
        const ssize_t count = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (count > 0) {
            bytes.remove_prefix(static_cast<std::size_t>(count));
        } else if (errno == EPIPE || errno == ECONNRESET) {
            return {};
        } else if (errno == EAGAIN) {
            VGPU_TRY(wait(POLLOUT, deadline, -1));
        } else if (errno != EINTR) {
            return fail(Error::system(errno, "send to", "virt-vgpud"));
        }
    }
    return {};
}

Result<std::optional<std::string_view>> ClientSocket::receive(std::string& buffer,
                                                              Deadline deadline, int cancel_fd) {
    buffer.resize(std::size_t{64} << 10U);
    while (true) {
        VGPU_TRY_ASSIGN(const bool ours, wait(POLLIN, deadline, cancel_fd));
        if (!ours) {
            return std::optional<std::string_view>();
        }
        const ssize_t count = ::recv(fd_.get(), buffer.data(), buffer.size(), 0);
        if (count >= 0) {
            return std::string_view(buffer).substr(0, static_cast<std::size_t>(count));
        }
        if (errno == ECONNRESET) { // closed with some of our request unread
            return std::string_view();
        }
        if (errno != EAGAIN && errno != EINTR) {
            return fail(Error::system(errno, "receive from", "virt-vgpud"));
        }
    }
}

} // namespace vgpu::http
