#pragma once

#include "agent/core/result.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <string>

namespace vgpu::http {

/// A Unix socket's address; `invalid` if the path does not fit into it (107 bytes) or is empty.
inline Result<sockaddr_un> socket_address(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.empty() || path.size() >= sizeof address.sun_path) {
        return fail(ErrorCode::invalid,
                    "socket path " + path + " has " + std::to_string(path.size()) +
                        " bytes; a Unix socket's may have 1 to " +
                        std::to_string(sizeof address.sun_path - 1) + ", choose a shorter one");
    }
    path.copy(address.sun_path, path.size());
    return address;
}

/// connect(2) or bind(2) take the address by its common head.
inline const sockaddr* as_sockaddr(const sockaddr_un& address) {
    return reinterpret_cast<const sockaddr*>(&address);
}

} // namespace vgpu::http
