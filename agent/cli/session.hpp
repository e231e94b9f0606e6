#pragma once

#include "agent/core/host_session.hpp"

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

/// A session on the host for one command, whose accesses to drivers end after 25 s. Notes go to
/// standard error. Error: the configuration or the boot id cannot be read.
[[nodiscard]] Result<std::unique_ptr<HostSession>> open_session(const CommonOptions& options,
                                                                HostSession::Purpose purpose);

/// Everything there is on the host, with a warning for everything that could not be looked at.
[[nodiscard]] Result<Inventory> look_with_warnings(HostSession& session);

} // namespace vgpu::cli
