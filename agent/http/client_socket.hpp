#pragma once

#include "agent/core/deadline.hpp"
#include "agent/core/result.hpp"
#include "agent/core/unique_fd.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace vgpu::http {

/// A connection to virt-vgpud whose every wait has a deadline. Never raises SIGPIPE.
class ClientSocket {
public:
    /// `unavailable` if nobody listens, `denied` if the file's mode does not let us, `timeout` if
    /// the daemon does not accept; each with what to do.
    [[nodiscard]] static Result<ClientSocket> connect(const std::string& path, Deadline deadline);

    /// Sends all of it, or stops when the other side does not read on: it may have answered.
    [[nodiscard]] Result<void> send(std::string_view bytes, Deadline deadline);

    /// The next bytes into `buffer`; an empty view at the end of the stream; nothing if `cancel_fd`
    /// became readable first.
    [[nodiscard]] Result<std::optional<std::string_view>>
    receive(std::string& buffer, Deadline deadline, int cancel_fd = -1);

private:
    explicit ClientSocket(UniqueFd fd) : fd_(std::move(fd)) {}
    [[nodiscard]] Result<bool> wait(short events, Deadline deadline, int cancel_fd);
    UniqueFd fd_;
};

} // namespace vgpu::http
