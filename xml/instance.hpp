#pragma once

#include "agent/core/ids.hpp"
#include "agent/core/result.hpp"
#include "xml/domain.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace vgpu::xml {

/// A disk or a CD-ROM of an instance. The target (vda, sda, ...) is given out in order.
struct InstanceDisk {
    std::string path;   ///< absolute; below /dev it is a block device
    std::string format; ///< "raw" or "qcow2"; may be left out for a CD-ROM only, which is raw
    std::string bus;    ///< "virtio", "scsi", "sata", "usb"; empty: virtio, a CD-ROM sata
    bool readonly = false;
    bool cdrom = false;
    std::optional<std::uint32_t> boot_order; ///< from 1; see InstanceNetwork::boot_order
    bool operator==(const InstanceDisk&) const = default;
};

/// A network card of an instance, on exactly one of `network` and `bridge`.
struct InstanceNetwork {
    std::string network;                     ///< a network of libvirt's
    std::string bridge;                      ///< a bridge of the host's
    std::string mac;                         ///< empty: libvirt makes one
    std::string model;                       ///< empty: virtio
    std::optional<std::uint32_t> boot_order; ///< none on any device: disk, CD-ROM, network
    bool operator==(const InstanceNetwork&) const = default;
};

/// Where memory and vCPUs of an instance have to be.
struct InstanceNuma {
    std::string nodeset; ///< nodes of its memory, "0" or "0-1,3"; empty: any
    std::string mode;    ///< "strict", "preferred", "interleave", "restrictive"; empty: strict
    std::string cpuset;  ///< host CPUs that the vCPUs may run on; empty: any
    bool operator==(const InstanceNuma&) const = default;
};

/// One vGPU: what its domain's metadata will ask for, and what only the making of it needs.
struct InstanceGpu : VgpuRequest {
    bool display = false;                   ///< the guest's screen comes from the vGPU; mdev only
    std::optional<std::uint32_t> numa_node; ///< take it from a GPU on this node
    bool operator==(const InstanceGpu&) const = default;
};

/// What an instance shall be. Empty strings and optionals stand for "not said"; what then applies
/// is what virt-install would choose, or, where noted, the caller's decision.
struct InstanceRequest {
    std::string name;
    std::optional<Uuid> uuid;
    std::string title;       ///< one line
    std::string description; ///< may have several lines
    std::string virt_type;   ///< "kvm", "qemu"; empty: the caller decides
    std::uint32_t vcpus = 0;
    std::uint64_t memory_mib = 0;
    std::string arch;     ///< "x86_64", "aarch64"; empty: x86_64
    std::string machine;  ///< empty: q35, on aarch64 virt
    std::string cpu;      ///< "host-passthrough", "host-model", "maximum" or a model's name;
                          ///< empty: host-passthrough, without KVM maximum
    std::string firmware; ///< "bios", "uefi"; empty: bios, on aarch64 uefi
    std::vector<InstanceDisk> disks;
    std::vector<InstanceNetwork> networks;
    InstanceNuma numa;
    bool console = true;        ///< a serial console
    std::string graphics;       ///< "vnc"; empty: none
    std::string cloud_init_iso; ///< a CD-ROM behind the disks
    std::string kernel;         ///< direct boot, on the host
    std::string initrd;
    std::string cmdline;
    std::vector<InstanceGpu> gpus;
    /// A whole domain XML to start from. Then only name, uuid, gpus and what concerns their
    /// placement may be said; virt_type, if said, must be the XML's.
    std::string base_xml;
    bool start = false;         ///< start it once it is made
    std::string policy;         ///< "spread", "pack": how GPUs are chosen; empty: the caller's
    bool distinct_gpus = false; ///< each vGPU on another GPU
    bool operator==(const InstanceRequest&) const = default;
};

/// An NVIDIA guest takes at most 16 vGPUs.
inline constexpr std::size_t max_instance_gpus = 16;
inline constexpr std::size_t max_instance_disks = 64;
inline constexpr std::size_t max_instance_networks = 64;
inline constexpr std::size_t max_instance_name = 128;

/// Checks every range, grammar and combination that can be judged without looking at the host.
/// Names of `gpus` must be filled in. Error: invalid, beginning with the JSON pointer of the field
/// ("/disks/0/path: ..."), with no more of its value than can be printed.
[[nodiscard]] Result<void> check_instance_request(const InstanceRequest& request);

/// Checks `name` alone: what libvirt accepts as the name of a domain, at most max_instance_name
/// bytes. Error: invalid, without a pointer.
[[nodiscard]] Result<void> check_instance_name(const std::string& name);

/// What the editor writes for gpus[index] on `device`. Only the first display has a framebuffer
/// for the firmware (ramfb): libvirt allows one in a domain.
/// Error: unsupported for a display on a device that is no mdev.
[[nodiscard]] Result<Assignment> assignment_of(const InstanceRequest& request, std::size_t index,
                                               const DeviceKey& device);

} // namespace vgpu::xml
