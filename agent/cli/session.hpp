#pragma once

#include "agent/core/bounded_sysfs.hpp"
#include "agent/core/catalogue_memory.hpp"
#include "agent/core/config.hpp"
#include "agent/core/host.hpp"
#include "agent/core/inventory.hpp"
#include "agent/core/posix_sysfs.hpp"

#include <memory>
#include <string>

namespace vgpu::cli {

/// What every command takes.
struct CommonOptions {
    std::string config; ///< the file named by --config; empty if none was
    bool json = false;
};

/// The configuration that --config names, else $VIRT_VGPU_CONFIG, else the default file.
[[nodiscard]] Result<Config> configuration(const CommonOptions& options);

/// The objects that a command works with on one host.
class Session {
public:
    enum class Purpose {
        look,  ///< one lost device does not spoil the rest; writes are refused
        change ///< every access to a driver ends by the command's deadline
    };

    /// Error: the configuration or the boot id cannot be read.
    [[nodiscard]] static Result<std::unique_ptr<Session>> open(const CommonOptions& options,
                                                               Purpose purpose);

    Session(Config config, std::string boot_id, Purpose purpose);
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;
    ~Session() = default;

    [[nodiscard]] Host& host() { return host_; }
    [[nodiscard]] const Config& config() const { return config_; }

    /// Everything there is on the host. What could not be looked at is in it.
    [[nodiscard]] Result<Inventory> look();
    /// The same, with a warning for everything that could not be looked at. Root lets the catalogue
    /// memory on disk learn what the cards offer.
    [[nodiscard]] Result<Inventory> inventory();

private:
    [[nodiscard]] std::unique_ptr<Sysfs> make_sysfs(Purpose purpose);
    [[nodiscard]] CatalogueMemory memory() const;

    Config config_;
    PosixSysfs real_sysfs_;
    Locks locks_;
    ClaimStore claims_;
    Proc proc_;
    Witnesses witnesses_;
    std::unique_ptr<Sysfs> sysfs_;
    Host host_;
};

} // namespace vgpu::cli
