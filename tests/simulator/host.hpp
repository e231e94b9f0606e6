#pragma once

#include "tests/simulator/faults.hpp"
#include "tests/simulator/inventory.hpp"
#include "tests/simulator/processes.hpp"

#include <mutex>
#include <string>
#include <string_view>

namespace vgpu::simulator {

struct Settings {
    std::string driver_version = "580.105.08";
    std::string kernel_release = "6.8.0-60-generic";
    bool iommufd = true;       ///< per-device nodes in dev/vfio/devices; some kernels have none
    bool strict = true;        ///< refuse type writes to a device that is held (EBUSY)
    std::uint64_t shuffle = 0; ///< seed of the order in which directories list, 0: sorted
    unsigned self_removal_ms =
        0; ///< the driver removes an mdev that long after its last close, 0: never
};

/// The simulated machine: everything the served tree shows. All of it is guarded by `mutex`, which
/// no operation keeps while it waits.
struct Host {
    explicit Host(std::string mounted_at);

    std::mutex mutex;
    std::string mountpoint;
    Settings settings;
    Boards boards = built_in_boards();
    Counters counters;
    Faults faults;
    Waiters waiters;
    Inventory inventory;
    Processes processes;
    std::string boot_id;
    std::chrono::system_clock::time_point booted = std::chrono::system_clock::now();
    std::string last_error; ///< why the last refused command was refused
    bool stopping = false;
    std::optional<Clock::time_point> next_self_removal;

    /// Counts for the host and, when the node is a device's, for the device.
    void count(std::string_view operation, const Node& node);
    void count(std::string_view name, Device* device);
    /// Everything that happens by itself, up to now: drivers that remove mdevs.
    void settle();
    /// One handle more or less on a device's node. A close starts what follows a VM's end.
    void opened(Device& device);
    void closed(const std::shared_ptr<Device>& device);
    /// The device that a fake process's path to a node means.
    [[nodiscard]] std::pair<std::shared_ptr<Device>, VfioNode> node_at(std::string_view path) const;
    [[nodiscard]] std::string node_path(const Device& device, VfioNode node) const;
    /// All that ends with the kernel: processes, mdevs, types, modes and, unless kept, VFs.
    void reboot(bool keep_vfs);
};

/// A random version 4 UUID.
std::string random_uuid();

/// Waits as long as the device's `delay` and `block` say. 0, EINTR for a killed caller, ENODEV when
/// the device went away meanwhile.
int stall(Host& host, Call& call, Device& device);

} // namespace vgpu::simulator
