#include "hooks/journal.hpp"

#include "agent/core/unique_fd.hpp"

#include <fmt/format.h>

#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>

#include <cstdint>
#include <cstring>

namespace vgpu {

namespace {

constexpr const char* identifier = "virt-vgpu-hook";

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

bool send_to_journal(std::string_view datagram) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    constexpr std::string_view path = "/run/systemd/journal/socket";
    std::memcpy(address.sun_path, path.data(), path.size());
    const UniqueFd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    return fd && ::sendto(fd.get(), datagram.data(), datagram.size(), MSG_NOSIGNAL,
                          reinterpret_cast<const sockaddr*>(&address), sizeof address) >= 0;
}

} // namespace

std::string journal_datagram(const LogRecord& record) {
    std::string datagram;
    add(datagram, "MESSAGE", record.text);
    add(datagram, "PRIORITY", fmt::format("{}", priority_of(record.level)));
    add(datagram, "SYSLOG_IDENTIFIER", identifier);
    add(datagram, "VIRT_VGPU_OPERATION", record.operation);
    add(datagram, "VIRT_VGPU_DOMAIN", record.domain_name);
    add(datagram, "VIRT_VGPU_DOMAIN_UUID", record.domain_uuid);
    add(datagram, "VIRT_VGPU_DEVICE", record.device);
    return datagram;
}

void log(const LogRecord& record) {
    if (send_to_journal(journal_datagram(record))) {
        return;
    }
    ::openlog(identifier, LOG_PID | LOG_NDELAY, LOG_DAEMON);
    ::syslog(priority_of(record.level), "%s", record.text.c_str());
    ::closelog();
}

} // namespace vgpu
