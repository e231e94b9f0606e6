#include "agent/daemon/log.hpp"

#include "agent/journal/journal.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace vgpu {

std::string_view to_string(NoteLevel level) {
    switch (level) {
    case NoteLevel::error:
        return "error";
    case NoteLevel::warning:
        return "warning";
    case NoteLevel::info:
        break;
    }
    return "info";
}

Log::Log(std::function<void(const Record&)> also)
    : also_(std::move(also)), to_journal_(std::getenv("JOURNAL_STREAM") != nullptr) {}

void Log::write(const Record& record) const {
    if (to_journal_) {
        log({"virt-vgpud", record.level, record.text, record.domain_name, record.domain_uuid,
             record.device, "daemon"});
    } else {
        const std::string line = fmt::format(
            "virt-vgpud: {}{}\n",
            record.level == NoteLevel::info ? "" : fmt::format("{}: ", to_string(record.level)),
            printable(record.text, 2000));
        std::fputs(line.c_str(), stderr);
    }
    if (also_) {
        also_(record);
    }
}

std::string record_json(const Log::Record& record) {
    nlohmann::ordered_json json;
    json["level"] = to_string(record.level);
    json["text"] = record.text;
    json["device"] = nullptr;
    if (!record.device.empty()) {
        json["device"] = record.device;
    }
    json["domain"] = nullptr;
    if (!record.domain_uuid.empty()) {
        json["domain"] = {{"name", record.domain_name}, {"uuid", record.domain_uuid}};
    }
    return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Notes Log::notes() const {
    return [this](NoteLevel level, const std::string& text, const NoteSubject& subject) {
        write({level, text, subject.device ? subject.device->device() : "", subject.domain_name,
               subject.domain_uuid ? subject.domain_uuid->to_string() : ""});
    };
}

} // namespace vgpu
