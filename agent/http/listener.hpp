#pragma once

#include "agent/core/result.hpp"
#include "agent/core/unique_fd.hpp"

#include <sys/types.h>

#include <string>

namespace vgpu::http {

struct SocketFile {
    std::string path;
    mode_t mode = 0660;
    std::string group; ///< name; empty: the process' own
};

/// A listening Unix socket. Destroyed, it removes its file if it made it and it is still the same.
class Listener {
public:
    /// Makes the socket's file, complete with mode and group before anybody can see it under its
    /// name. A file that nobody listens on is replaced; `busy` if somebody does or just starts to,
    /// `invalid` for a path that is too long or leads to something else than a socket, `not_found`
    /// for an unknown group. Does not block. Keeps a file PATH.lock against two starts at once.
    [[nodiscard]] static Result<Listener> create(const SocketFile& file);
    /// Takes over a socket that listens already (socket activation). `invalid` if it does not.
    [[nodiscard]] static Result<Listener> adopt(int fd);

    Listener(Listener&&) noexcept = default;
    Listener& operator=(Listener&&) = delete;
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;
    ~Listener();

    [[nodiscard]] int fd() const { return fd_.get(); }

private:
    explicit Listener(UniqueFd fd) : fd_(std::move(fd)) {}
    UniqueFd fd_;
    std::string path_; ///< empty: not ours to remove
    dev_t device_ = 0;
    ino_t inode_ = 0;
};

} // namespace vgpu::http
