#pragma once

#include "agent/core/bounded_sysfs.hpp"
#include "agent/core/catalogue_memory.hpp"
#include "agent/core/config.hpp"
#include "agent/core/host.hpp"
#include "agent/core/inventory.hpp"
#include "agent/core/posix_sysfs.hpp"

#include <chrono>
#include <memory>
#include <string>

namespace vgpu {

/// The objects that one piece of work on the host needs, for one thread, until `budget` has passed.
/// Every access to a driver ends by then.
class HostSession {
public:
    enum class Purpose {
        look,  ///< one lost device does not spoil the rest; writes are refused
        change ///< devices and claims may be written
    };

    /// Error: the boot id cannot be read.
    [[nodiscard]] static Result<std::unique_ptr<HostSession>>
    open(Config config, Purpose purpose, std::chrono::milliseconds budget, Notes note);

    HostSession(Config config, std::string boot_id, Purpose purpose,
                std::chrono::milliseconds budget, Notes note);
    HostSession(const HostSession&) = delete;
    HostSession& operator=(const HostSession&) = delete;
    ~HostSession() = default;

    [[nodiscard]] Host& host() { return host_; }
    [[nodiscard]] const Config& config() const { return config_; }

    /// Everything there is on the host. What could not be looked at is in its `problems`. Root lets
    /// the catalogue memory on disk learn what the cards offer; that failing is a note.
    [[nodiscard]] Result<Inventory> look();

private:
    [[nodiscard]] std::unique_ptr<Sysfs> make_sysfs(Purpose purpose, Deadline deadline);

    Config config_;
    PosixSysfs real_sysfs_;
    Locks locks_;
    ClaimStore claims_;
    Proc proc_;
    Witnesses witnesses_;
    std::unique_ptr<Sysfs> sysfs_;
    Host host_;
};

} // namespace vgpu
