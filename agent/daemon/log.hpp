#pragma once

#include "agent/core/host.hpp"

#include <functional>
#include <string>

namespace vgpu {

/// Where the daemon's records go: to the journal with their fields when systemd started it, else as
/// lines to standard error; and to whoever listens. May be used from any thread.
class Log {
public:
    struct Record {
        NoteLevel level = NoteLevel::info;
        std::string text;
        std::string device;
        std::string domain_name;
        std::string domain_uuid;
    };

    /// `also` is called with every record; must not block.
    explicit Log(std::function<void(const Record&)> also = {});

    void write(const Record& record) const;
    void info(const std::string& text) const { write({NoteLevel::info, text, "", "", ""}); }
    void warning(const std::string& text) const { write({NoteLevel::warning, text, "", "", ""}); }
    void error(const std::string& text) const { write({NoteLevel::error, text, "", "", ""}); }
    /// For the core's notes.
    [[nodiscard]] Notes notes() const;

private:
    std::function<void(const Record&)> also_;
    bool to_journal_;
};

/// A record as the event stream has it: {"level","text","device","domain":{"name","uuid"}}.
[[nodiscard]] std::string record_json(const Log::Record& record);

/// "info", "warning", "error".
[[nodiscard]] std::string_view to_string(NoteLevel level);

} // namespace vgpu
