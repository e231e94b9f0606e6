#include "agent/http/listener.hpp"

#include "agent/http/socket_address.hpp"

#include <fcntl.h>
#include <grp.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>
#include <utility>
#include <vector>

namespace vgpu::http {

namespace {

constexpr int backlog = 512;
constexpr gid_t keep_group = static_cast<gid_t>(-1);

Result<UniqueFd> new_socket() {
    UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd) {
        return fail(Error::system(errno, "create", "a Unix socket"));
    }
    return fd;
}

Result<gid_t> find_group(const std::string& name) {
    if (name.empty()) {
        return keep_group;
    }
    std::vector<char> buffer(std::size_t{64} << 10U);
    group entry{};
    group* found = nullptr;
    const int error = ::getgrnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found);
    if (error != 0) {
        return fail(Error::system(error, "look up group", name));
    }
    if (found == nullptr) {
        return fail(ErrorCode::not_found, "there is no group '" + name +
                                              "' for the API's socket; create it with `groupadd "
                                              "--system " +
                                              name + "` or name another");
    }
    return found->gr_gid;
}

/// Fine if nothing is there, or the socket of somebody who is gone.
Result<void> require_free(const std::string& path, const sockaddr_un& address) {
    struct stat found{};
    if (::lstat(path.c_str(), &found) != 0) {
        return errno == ENOENT ? Result<void>()
                               : Result<void>(fail(Error::system(errno, "look at", path)));
    }
    // connect() refuses a regular file just as it does a dead socket: look before.
    if (!S_ISSOCK(found.st_mode)) {
        return fail(ErrorCode::invalid,
                    path + " is there and is no socket; move it away or choose another path");
    }
    VGPU_TRY_ASSIGN(const UniqueFd probe, new_socket());
    if (::connect(probe.get(), as_sockaddr(address), sizeof address) == 0 || errno == EAGAIN) {
        return fail(ErrorCode::busy, "another process serves " + path +
                                         " already; stop it first (`systemctl status virt-vgpud`)");
    }
    if (errno == ECONNREFUSED || errno == ENOENT) {
        return {};
    }
    return fail(Error::system(errno, "find out whether somebody serves", path));
}

Result<UniqueFd> lock_start(const std::string& path) {
    const std::string name = path + ".lock";
    UniqueFd fd(::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!fd) {
        return fail(Error::system(errno, "open", name));
    }
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
        return errno == EWOULDBLOCK
                   ? fail(ErrorCode::busy, "another process is about to serve " + path)
                   : fail(Error::system(errno, "lock", name));
    }
    return fd;
}

int option(int fd, int name) {
    int value = -1;
    socklen_t size = sizeof value;
    return ::getsockopt(fd, SOL_SOCKET, name, &value, &size) == 0 ? value : -1;
}

/// Binds a file that is complete before anybody can connect through it.
Result<void> bind_file(int fd, const std::string& path, mode_t mode, gid_t gid) {
    VGPU_TRY_ASSIGN(const sockaddr_un address, socket_address(path));
    ::unlink(path.c_str());
    // A socket's file gets the mode of the socket itself: no need for umask(), which is the
    // whole process'.
    if (::fchmod(fd, 0600) != 0 || ::bind(fd, as_sockaddr(address), sizeof address) != 0) {
        return fail(Error::system(errno, "bind", path));
    }
    if (gid != keep_group && ::lchown(path.c_str(), static_cast<uid_t>(-1), gid) != 0) {
        return fail(Error::system(errno, "change the group of", path));
    }
    // After the group: chown clears bits of the mode.
    if (::chmod(path.c_str(), mode) != 0) {
        return fail(Error::system(errno, "change the mode of", path));
    }
    if (::listen(fd, backlog) != 0) {
        return fail(Error::system(errno, "listen on", path));
    }
    return {};
}

} // namespace

Result<Listener> Listener::create(const SocketFile& file) {
    VGPU_TRY_ASSIGN(const sockaddr_un address, socket_address(file.path));
    VGPU_TRY_ASSIGN(const gid_t gid, find_group(file.group));
    VGPU_TRY_ASSIGN(const UniqueFd lock, lock_start(file.path));
    VGPU_TRY(require_free(file.path, address));
    VGPU_TRY_ASSIGN(UniqueFd fd, new_socket());
    const std::string temporary = file.path + ".new";
    const auto bound = bind_file(fd.get(), temporary, file.mode, gid);
    struct stat made{};
    if (!bound) {
        ::unlink(temporary.c_str());
        return fail(bound.error());
    }
    if (::lstat(temporary.c_str(), &made) != 0 ||
        ::rename(temporary.c_str(), file.path.c_str()) != 0) {
        const int error = errno;
        ::unlink(temporary.c_str());
        return fail(Error::system(error, "rename to", file.path));
    }
    Listener listener(std::move(fd));
    listener.path_ = file.path;
    listener.device_ = made.st_dev;
    listener.inode_ = made.st_ino;
    return listener;
}

Result<Listener> Listener::adopt(int fd) {
    UniqueFd owned(fd);
    if (option(fd, SO_DOMAIN) != AF_UNIX || option(fd, SO_TYPE) != SOCK_STREAM ||
        option(fd, SO_ACCEPTCONN) != 1) {
        return fail(ErrorCode::invalid, "file descriptor " + std::to_string(fd) +
                                            " is no listening Unix stream socket; check the "
                                            "ListenStream= of virt-vgpud.socket");
    }
    const int flags = ::fcntl(fd, F_GETFL);
    if (flags < 0 || ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0 ||
        ::fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) {
        return fail(Error::system(errno, "set up", "file descriptor " + std::to_string(fd)));
    }
    return Listener(std::move(owned));
}

Listener::~Listener() {
    struct stat found{};
    if (!fd_ || path_.empty() || ::lstat(path_.c_str(), &found) != 0) {
        return;
    }
    if (found.st_dev == device_ && found.st_ino == inode_) {
        ::unlink(path_.c_str());
    }
}

} // namespace vgpu::http
