#pragma once

#include "agent/core/host.hpp"

#include <string>
#include <string_view>

namespace vgpu {

/// One log record. Goes to the journal with its fields, or to syslog when there is no
/// journal; never waits.
struct LogRecord {
    std::string_view program; ///< "virt-vgpu-hook"
    NoteLevel level = NoteLevel::info;
    std::string text;
    std::string domain_name;
    std::string domain_uuid;
    std::string device;
    std::string operation;
};

/// Sends a record. The journal's native protocol is spoken here since libsystemd exists as a shared
/// library only, which a static program cannot link (https://systemd.io/JOURNAL_NATIVE_PROTOCOL).
/// Losing a record is no error.
void log(const LogRecord& record);

/// The datagram of a record, as the protocol wants it: fields as NAME=value, or with their length
/// when they hold a newline.
[[nodiscard]] std::string journal_datagram(const LogRecord& record);

} // namespace vgpu
