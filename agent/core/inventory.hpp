#pragma once

#include "agent/core/catalogue_memory.hpp"
#include "agent/core/host.hpp"
#include "agent/core/proc_scan.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace vgpu {

/// A type that a function supports, and what it can make of it now.
struct OfferedType {
    VgpuType type;
    std::uint32_t framebuffer_mib = 0; ///< 0: unknown
    std::uint32_t instances = 0;       ///< how many more the function itself can make now
    std::uint32_t most = 0;            ///< how many one GPU takes, if the driver says so; else 0
};

/// A GPU: a PF, or a card that makes mdevs without SR-IOV.
struct GpuInfo {
    PciAddress address;
    std::string name;  ///< "NVIDIA L40S" when its types are known, else its PCI ids
    std::string model; ///< the key of the catalogue memory; empty if it cannot be read
    std::optional<FrameworkKind> framework;
    std::string reason; ///< why there is no framework, or what is wrong; empty if all is well
    std::string driver; ///< empty: none bound
    int vfs = 0;        ///< VFs that are there
    int total_vfs = 0;  ///< VFs that could be; 0 without SR-IOV
    int numa_node = -1;
    bool managed = false;
    std::uint32_t framebuffer_mib = 0; ///< of its largest known type; 0: unknown
    int allocated = 0;                 ///< devices of it that are allocated()
    std::vector<VgpuType> types;       ///< all that are known, by id
};

/// A place for one vGPU: a VF, or a parent of mdevs. An mdev that exists or is claimed stands on a
/// row of its parent.
struct DeviceInfo {
    PciAddress function;
    PciAddress gpu;
    std::optional<FrameworkKind> framework;
    std::optional<Uuid> mdev;
    std::optional<std::uint32_t> type_id; ///< 0: none; nullopt: cannot be read
    std::string profile;                  ///< name of that type; empty if none or not known
    bool managed = false;
    int numa_node = -1;
    std::string driver;
    std::optional<StoredClaim> claim;
    bool suspect = false;    ///< see suspects.hpp
    bool claim_over = false; ///< anybody may finish the claim, see is_over()
    DeviceNodes nodes;
    std::optional<bool> in_use; ///< held open by somebody; nullopt: cannot be told
    std::optional<Process> holder;
    std::vector<OfferedType> offers;
    std::string error; ///< what could not be read of it; the rest is filled in all the same

    /// What claims and locks are named by.
    [[nodiscard]] DeviceKey key() const { return mdev ? DeviceKey(*mdev) : DeviceKey(function); }
    /// It carries a type or a claim, whatever the framework; also when its type cannot be read.
    [[nodiscard]] bool allocated() const {
        return claim || (framework && type_id.value_or(1) != 0);
    }
    /// It carries a type, or exists, and nobody has claimed it.
    [[nodiscard]] bool dirty() const { return type_id.value_or(0) != 0 && !claim; }
    /// It is somebody else's: never written to by us.
    [[nodiscard]] bool foreign() const {
        return (claim && claim->claim && !claim->claim->managed) ||
               (dirty() && (!managed || mdev.has_value()));
    }
    /// The group's node without its directory, as the kernel numbers it; empty if there is none.
    [[nodiscard]] std::string iommu_group() const;
    /// The device's own node (VFIO's "cdev"); empty if there is none.
    [[nodiscard]] std::string cdev() const;
};

struct Inventory {
    std::vector<GpuInfo> gpus;         ///< by address
    std::vector<DeviceInfo> devices;   ///< by GPU, then in the order of the VFs' numbers
    std::vector<StoredClaim> claims;   ///< all, also those of devices that are not there
    std::vector<std::string> problems; ///< for people: what could not be looked at

    [[nodiscard]] const GpuInfo* gpu(const PciAddress& address) const;
};

/// Everything there is to say of the host's NVIDIA GPUs and their vGPUs, by one pass over PCI
/// functions, mdevs, claims and processes. Changes nothing, opens no VFIO node. What cannot be read
/// of a GPU or a device is said in its row and spoils nothing else. `memory` names types that the
/// driver does not list now, and learns what it lists. Error: the PCI devices cannot be listed.
/// Blocks as `host.sysfs` does.
[[nodiscard]] Result<Inventory> take_inventory(const Host& host, CatalogueMemory& memory);

} // namespace vgpu
