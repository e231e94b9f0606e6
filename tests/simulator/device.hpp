#pragma once

#include "tests/simulator/address.hpp"
#include "tests/simulator/capacity.hpp"
#include "tests/simulator/counters.hpp"
#include "tests/simulator/waiters.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace vgpu::simulator {

/// Which of a device's two nodes in /dev/vfio.
enum class VfioNode { group, cdev };

/// Who has a device's VFIO nodes open.
struct Holders {
    unsigned group_opens = 0; ///< by real processes; the kernel allows one
    unsigned cdev_opens = 0;
    unsigned group_fakes = 0; ///< by processes of the simulated /proc
    unsigned cdev_fakes = 0;
    bool marked = false;            ///< held by somebody whom no process table shows
    std::map<pid_t, unsigned> pids; ///< of the real ones
    std::optional<Clock::time_point> closed_at;
    bool opened_ever = false;

    [[nodiscard]] bool group_busy() const { return group_opens + group_fakes > 0 || marked; }
    [[nodiscard]] bool held() const { return group_busy() || cdev_opens + cdev_fakes > 0; }
};

enum class Block { none, killable, hard };

/// A value that reads of current_vgpu_type show instead of the truth.
struct Lie {
    std::uint32_t value = 0;
    std::uint64_t reads = 0;
};

/// What a test made a device do.
struct Misbehaviour {
    unsigned delay_ms = 0;
    unsigned settle_ms = 0;
    std::uint64_t ignore_resets = 0;
    Block block = Block::none;
    Lie lie;
    std::uint64_t stale_reads =
        0; ///< armed: reads after the next write that still show the old type
    bool wedged = false;
};

/// How an entry below a device's directory shows itself.
enum class Shape { normal, absent, directory, empty };

/// Something with a directory in sysfs: a PCI function or an mdev. `name` is that of the directory.
struct Device {
    std::string name;
    std::string path; ///< below sys/, without a leading slash
    std::uint64_t generation =
        0; ///< another after each re-creation: its files get other inode numbers
    std::chrono::system_clock::time_point created = std::chrono::system_clock::now();
    bool gone = false; ///< removed while somebody has one of its files open
    int group = -1;    ///< IOMMU group
    int vfio = -1;     ///< number of vfio-dev/vfioN, -1: not bound to a VFIO driver
    Holders holders;
    Misbehaviour faults;
    Counters counters;
    std::map<std::string, std::string, std::less<>> contents; ///< texts that replace a file's own
    std::map<std::string, Shape, std::less<>> shapes;

    Device() = default;
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;
    virtual ~Device() = default;
};

/// A vGPU as the driver made it.
struct Vgpu {
    const VgpuType* type = nullptr; ///< nullptr: none
    Placement placement;
    std::string params;

    [[nodiscard]] std::uint32_t id() const { return type == nullptr ? 0 : type->id; }
};

struct PciIds {
    std::uint16_t vendor = 0x10de;
    std::uint16_t device = 0;
    std::uint16_t subsystem = 0;
    std::uint32_t class_code = 0x030200;
};

struct Mdev;

struct PciFunction : Device {
    Address address;
    PciIds ids;
    std::string driver; ///< "" when none is bound
    std::string driver_override;
    int numa_node = -1;
    std::map<std::string, std::shared_ptr<Mdev>> mdevs; ///< by UUID; a VF has one at most
};

struct Vf;

struct Gpu : PciFunction {
    std::string model;
    std::shared_ptr<const Board> board;
    Framework framework = Framework::vendor_vfio;
    bool catalogue_has_header = true;
    std::uint32_t framebuffer_mib = 0;
    std::uint32_t max_vgpus = 0;
    std::uint32_t first_vf = 4;
    std::uint32_t total_vfs = 0;
    int vf_numa_node = -1;
    bool nvml_client = false; ///< somebody holds the driver's unbind lock
    bool sriov_fails = false; ///< the next SR-IOV command stops half way, with no driver bound
    std::vector<std::shared_ptr<Vf>> vfs;
    std::optional<Capacity> capacity;
    std::vector<const VgpuType*> leaks; ///< vGPUs the driver lost track of; back after a reboot
    std::optional<std::string>
        catalogue; ///< of a free VF; computed when read, dropped when it may change
};

struct Vf : PciFunction {
    std::weak_ptr<Gpu> gpu;
    unsigned index = 0;
    Vgpu vgpu;
    bool broken = false; ///< left its driver since SR-IOV was enabled: refuses every type
};

struct Mdev : Device {
    std::weak_ptr<PciFunction> parent;
    Vgpu vgpu;
    std::optional<Clock::time_point> self_removal; ///< when the driver removes it by itself
};

/// The GPU behind a GPU, a VF or an mdev; nullptr for anything else.
std::shared_ptr<Gpu> gpu_of(const std::shared_ptr<Device>& device);

/// The vGPU of a VF or an mdev; nullptr for anything else.
Vgpu* vgpu_of(Device& device);

} // namespace vgpu::simulator
