#include "agent/cli/session.hpp"

#include "agent/cli/listing_sysfs.hpp"
#include "agent/cli/output.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

namespace vgpu::cli {

namespace {

using std::chrono::seconds;

/// A command is over by then, whatever the drivers do.
constexpr seconds longest(25);

void print_note(NoteLevel level, const std::string& text, const DeviceKey&) {
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

Result<std::unique_ptr<Session>> Session::open(const CommonOptions& options, Purpose purpose) {
    VGPU_TRY_ASSIGN(Config config, configuration(options));
    VGPU_TRY_ASSIGN(std::string boot_id, Proc(config.paths.proc).boot_id());
    return std::make_unique<Session>(std::move(config), std::move(boot_id), purpose);
}

Session::Session(Config config, std::string boot_id, Purpose purpose)
    : config_(std::move(config)), real_sysfs_(config_.paths.sysfs), locks_(config_.paths),
      claims_(config_.paths), proc_(config_.paths.proc), witnesses_(config_.paths, proc_),
      sysfs_(make_sysfs(purpose)),
      host_{config_, *sysfs_, locks_, claims_, proc_, witnesses_, std::move(boot_id), print_note} {}

std::unique_ptr<Sysfs> Session::make_sysfs(Purpose purpose) {
    if (purpose == Purpose::look) {
        return std::make_unique<ListingSysfs>(real_sysfs_, Deadline::in(longest));
    }
    auto bounded = std::make_unique<BoundedSysfs>(real_sysfs_, Deadline::in(longest),
                                                  [this] { locks_.close_allocation_in_child(); });
    // A child that was forked before a lock was taken does not keep it when it is left behind.
    locks_.on_acquired([sysfs = bounded.get()] { sysfs->forget_child(); });
    return bounded;
}

CatalogueMemory Session::memory() const {
    auto memory = CatalogueMemory::load(config_.paths.catalogue());
    if (!memory) {
        warn(memory.error().text());
        return {};
    }
    return std::move(*memory);
}

Result<Inventory> Session::look() {
    CatalogueMemory known = memory();
    return take_inventory(host_, known);
}

Result<Inventory> Session::inventory() {
    CatalogueMemory known = memory();
    VGPU_TRY_ASSIGN(Inventory inventory, take_inventory(host_, known));
    for (const std::string& problem : inventory.problems) {
        warn(problem);
    }
    if (known.changed() && ::geteuid() == 0) {
        std::error_code ignored; // what it means shows in the save
        std::filesystem::create_directories(config_.paths.state, ignored);
        const auto saved = known.save(config_.paths.catalogue());
        if (!saved) {
            warn(saved.error().text());
        }
    }
    return inventory;
}

} // namespace vgpu::cli
