#include "tests/unit/http/raw_client.hpp"

#include "agent/http/socket_address.hpp"

#include <gtest/gtest.h>

#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>

#include <array>

namespace vgpu::test {

namespace {
constexpr int patience_ms = 60000;
}

RawClient::RawClient(const std::string& path)
    : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const auto address = http::socket_address(path);
    if (!address || ::connect(fd_.get(), http::as_sockaddr(*address), sizeof *address) != 0) {
        ADD_FAILURE() << "cannot connect to " << path;
    }
}

bool RawClient::send(std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent <= 0) {
            return false;
        }
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
}

void RawClient::finish() {
    ::shutdown(fd_.get(), SHUT_WR);
}

bool RawClient::read_some() {
    pollfd waiting{fd_.get(), POLLIN, 0};
    if (::poll(&waiting, 1, patience_ms) != 1) {
        ADD_FAILURE() << "the server neither answers nor closes; so far: " << received_;
        return false;
    }
    std::array<char, 65536> buffer{};
    const ssize_t count = ::recv(fd_.get(), buffer.data(), buffer.size(), 0);
    if (count <= 0) {
        return false;
    }
    received_.append(buffer.data(), static_cast<std::size_t>(count));
    return true;
}

int RawClient::unread() const {
    int bytes = 0;
    if (::ioctl(fd_.get(), SIOCOUTQ, &bytes) != 0) {
        ADD_FAILURE() << "the kernel does not say what the server has read";
    }
    return bytes;
}

std::string RawClient::read_to_end() {
    while (read_some()) {
    }
    return received_;
}

std::string RawClient::read_until(std::string_view text) {
    while (received_.find(text) == std::string::npos && read_some()) {
    }
    return received_;
}

std::string get(std::string_view path, std::string_view more_fields) {
    return std::string("GET ").append(path).append(" HTTP/1.1\r\nHost: x\r\n").append(more_fields) +
           "\r\n";
}

std::size_t count(std::string_view text, std::string_view part) {
    std::size_t found = 0;
    for (auto at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) {
        ++found;
    }
    return found;
}

} // namespace vgpu::test
