#include "agent/cli/session.hpp"

#include "agent/cli/output.hpp"

#include <cstdlib>
#include <utility>

namespace vgpu::cli {

namespace {

using std::chrono::seconds;

/// A command is over by then, whatever the drivers do.
constexpr seconds longest(25);

void print_note(NoteLevel level, const std::string& text, const NoteSubject&) {
    if (level == NoteLevel::info) {
        complain(text);
    } else {
        warn(text);
    }
}

} // namespace

Result<Config> configuration(const CommonOptions& options) {
    if (!options.config.empty()) {
        return load_config(options.config, true);
    }
    const char* named = std::getenv("VIRT_VGPU_CONFIG");
    return load_config(config_path(), named != nullptr && *named != '\0');
}

Result<std::unique_ptr<HostSession>> open_session(const CommonOptions& options,
                                                  HostSession::Purpose purpose) {
    VGPU_TRY_ASSIGN(Config config, configuration(options));
    return HostSession::open(std::move(config), purpose, longest, print_note);
}

Result<Inventory> look_with_warnings(HostSession& session) {
    VGPU_TRY_ASSIGN(Inventory inventory, session.look());
    for (const std::string& problem : inventory.problems) {
        warn(problem);
    }
    return inventory;
}

} // namespace vgpu::cli
