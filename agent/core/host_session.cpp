#include "agent/core/host_session.hpp"

#include "agent/core/listing_sysfs.hpp"

#include <unistd.h>

#include <filesystem>
#include <system_error>
#include <utility>

namespace vgpu {

Result<std::unique_ptr<HostSession>>
HostSession::open(Config config, Purpose purpose, std::chrono::milliseconds budget, Notes note) {
    VGPU_TRY_ASSIGN(std::string boot_id, Proc(config.paths.proc).boot_id());
    return std::make_unique<HostSession>(std::move(config), std::move(boot_id), purpose, budget,
                                         std::move(note));
}

HostSession::HostSession(Config config, std::string boot_id, Purpose purpose,
                         std::chrono::milliseconds budget, Notes note)
    : config_(std::move(config)), real_sysfs_(config_.paths.sysfs), locks_(config_.paths),
      claims_(config_.paths), proc_(config_.paths.proc), witnesses_(config_.paths, proc_),
      sysfs_(make_sysfs(purpose, Deadline::in(budget))),
      host_{config_,        *sysfs_, locks_, claims_, proc_, witnesses_, std::move(boot_id),
            std::move(note)} {}

std::unique_ptr<Sysfs> HostSession::make_sysfs(Purpose purpose, Deadline deadline) {
    if (purpose == Purpose::look) {
        return std::make_unique<ListingSysfs>(real_sysfs_, deadline);
    }
    auto bounded = std::make_unique<BoundedSysfs>(
        real_sysfs_, deadline, [this](int socket) { locks_.keep_only_devices_in_child(socket); });
    // A child that was forked before a lock was taken does not keep it when it is left behind.
    locks_.on_acquired([sysfs = bounded.get()] { sysfs->forget_child(); });
    return bounded;
}

Result<Inventory> HostSession::look() {
    const std::string path = config_.paths.catalogue();
    CatalogueMemory known;
    auto loaded = CatalogueMemory::load(path);
    if (loaded) {
        known = std::move(*loaded);
    }
    VGPU_TRY_ASSIGN(Inventory inventory, take_inventory(host_, known));
    if (!loaded) {
        inventory.problems.push_back(loaded.error().text());
    }
    if (known.changed() && ::geteuid() == 0) {
        std::error_code ignored; // what it means shows in the save
        std::filesystem::create_directories(config_.paths.state, ignored);
        const auto saved = known.save(path);
        if (!saved) {
            inventory.problems.push_back(saved.error().text());
        }
    }
    return inventory;
}

} // namespace vgpu
