#pragma once

#include "agent/core/ids.hpp"
#include "agent/core/result.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace vgpu {

/// Everything the configuration file can say, with its defaults. Roots can all be moved: this is
/// how tests and the simulator plug in.
struct Config {
    struct Paths {
        std::string sysfs = "/sys";
        std::string proc = "/proc";
        std::string dev = "/dev";
        std::string libvirt_run = "/run/libvirt/qemu";
        std::string state = "/var/lib/virt-vgpu";
        std::string runtime = "/run/virt-vgpu";

        [[nodiscard]] std::string claims() const { return state + "/claims"; }
        [[nodiscard]] std::string device_locks() const { return runtime + "/devices"; }
        [[nodiscard]] std::string allocation_lock() const { return runtime + "/allocation.lock"; }
        [[nodiscard]] std::string api_socket() const { return runtime + "/api.sock"; }
        [[nodiscard]] std::string catalogue() const { return state + "/catalogue.json"; }
        bool operator==(const Paths&) const = default;
    } paths;
    struct Gpus {
        bool all_managed = true;         ///< managed = ["*"]
        std::vector<PciAddress> managed; ///< PF addresses, when not "*"
        std::vector<PciAddress> ignored; ///< PF or VF addresses never touched
        bool operator==(const Gpus&) const = default;
    } gpus;
    struct Hook {
        std::chrono::milliseconds deadline{20000};
        std::chrono::milliseconds release_budget{2000};
        bool operator==(const Hook&) const = default;
    } hook;
    struct Mdev {
        /// How long to wait for the driver's own removal of an mdev before removing it: "auto" (0
        /// unless the NVIDIA driver is one that removes it itself, GRID 14.4 and 15.x, which lose
        /// the vGPU until the next reboot when they are not waited for; then 10 s), or a duration.
        /// Stored as -1 for "auto".
        std::chrono::milliseconds self_removal{-1};
        bool operator==(const Mdev&) const = default;
    } mdev;
    struct Libvirt {
        std::string uri = "qemu:///system";
        bool rebind = true;
        bool operator==(const Libvirt&) const = default;
    } libvirt;
    struct Api {
        std::string group = "libvirt"; ///< of the socket; empty: the daemon's own
        bool operator==(const Api&) const = default;
    } api;
    struct Reconcile {
        std::chrono::milliseconds interval{60000};
        bool operator==(const Reconcile&) const = default;
    } reconcile;

    bool operator==(const Config&) const = default;

    /// True if the configuration gives `function` (a PF, or a VF of `gpu`) to virt-vgpu.
    [[nodiscard]] bool manages(const PciAddress& gpu, const PciAddress& function) const;
};

inline constexpr const char* default_config_path = "/etc/virt-vgpu/virt-vgpu.toml";

/// The file that is used: $VIRT_VGPU_CONFIG if set and not empty, else the default path.
[[nodiscard]] std::string config_path();

/// Parses a configuration. Every key has a default; unknown keys, wrong types, relative paths,
/// durations without a unit or out of range ("20s", "500ms", "2m"; 1 ms to 1 h) are `invalid`
/// errors that name file and line.
[[nodiscard]] Result<Config> parse_config(std::string_view text, std::string_view file);

/// Reads and parses the file at `path`. A missing file is the defaults, unless it was named by
/// $VIRT_VGPU_CONFIG: then it is an error (a typo there must not fall back to the real /sys).
[[nodiscard]] Result<Config> load_config(const std::string& path, bool must_exist);

/// The configuration as TOML with every key, for `virt-vgpu config check`.
[[nodiscard]] std::string to_toml(const Config& config);

} // namespace vgpu
