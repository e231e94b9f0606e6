#include "agent/journal/journal.hpp"

#include "agent/core/unique_fd.hpp"

#include <fmt/format.h>

#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <ctime>

namespace vgpu {

namespace {

int priority_of(NoteLevel level) {
    switch (level) {
    case NoteLevel::error:
        return LOG_ERR;
    case NoteLevel::warning:
        return LOG_WARNING;
    case NoteLevel::info:
        break;
    }
    return LOG_INFO;
}

void add(std::string& datagram, std::string_view name, std::string_view value) {
    if (value.empty()) {
        return;
    }
    datagram += name;
    if (value.find('\n') == std::string_view::npos) {
        datagram.append("=").append(value).append("\n");
        return;
    }
    datagram += '\n';
    std::uint64_t size = value.size();
    for (int byte = 0; byte < 8; ++byte, size >>= 8U) {
        datagram += static_cast<char>(size & 0xffU);
    }
    datagram.append(value).append("\n");
}

/// Never waits: a logger that does not read must not hold up a start. Returns 0 or the errno.
int send(const char* socket_path, std::string_view datagram) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, socket_path, sizeof address.sun_path - 1);
    const UniqueFd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const bool sent =
        fd && ::sendto(fd.get(), datagram.data(), datagram.size(), MSG_NOSIGNAL,
                       reinterpret_cast<const sockaddr*>(&address), sizeof address) >= 0;
    return sent ? 0 : errno;
}

/// A line as syslog(3) writes it, which would wait for the logger.
std::string syslog_line(const LogRecord& record) {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    ::localtime_r(&now, &parts);
    std::array<char, 32> time{};
    std::strftime(time.data(), time.size(), "%b %e %H:%M:%S", &parts);
    return fmt::format("<{}>{} {}[{}]: {}", LOG_DAEMON | priority_of(record.level), time.data(),
                       record.program, ::getpid(), record.text);
}

} // namespace

std::string journal_datagram(const LogRecord& record) {
    std::string datagram;
    add(datagram, "MESSAGE", record.text);
    add(datagram, "PRIORITY", fmt::format("{}", priority_of(record.level)));
    add(datagram, "SYSLOG_IDENTIFIER", record.program);
    add(datagram, "VIRT_VGPU_OPERATION", record.operation);
    add(datagram, "VIRT_VGPU_DOMAIN", record.domain_name);
    add(datagram, "VIRT_VGPU_DOMAIN_UUID", record.domain_uuid);
    add(datagram, "VIRT_VGPU_DEVICE", record.device);
    return datagram;
}

void log(const LogRecord& record) {
    const int error_number = send("/run/systemd/journal/socket", journal_datagram(record));
    if (error_number == ENOENT || error_number == ECONNREFUSED) {
        send("/dev/log", syslog_line(record));
    }
}

} // namespace vgpu
