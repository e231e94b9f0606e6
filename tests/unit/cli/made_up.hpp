#pragma once

#include "agent/core/inventory.hpp"
#include "agent/core/profile_name.hpp"

#include <string>
#include <vector>

/// Made-up GPUs, devices and claims, for what is decided without looking at a host.
namespace vgpu::test {

inline PciAddress pci(const char* text) {
    return PciAddress::parse(text).value();
}

inline Uuid uuid(int number) {
    Uuid made;
    made.bytes.back() = static_cast<std::uint8_t>(number);
    return made;
}

inline const VgpuType l40s_4q{1150, "NVIDIA L40S-4Q"};
inline const VgpuType l40s_8q{1152, "NVIDIA L40S-8Q"};
inline const VgpuType l40s_48q{1156, "NVIDIA L40S-48Q"};

/// A managed vendor-vfio GPU that knows three types, the largest of 48 GiB.
inline GpuInfo l40s(const char* address) {
    GpuInfo gpu;
    gpu.address = pci(address);
    gpu.name = "NVIDIA L40S";
    gpu.model = "10de:26b9:10de:1851";
    gpu.framework = FrameworkKind::vendor_vfio;
    gpu.driver = "nvidia";
    gpu.managed = true;
    gpu.framebuffer_mib = 49152;
    gpu.types = {l40s_4q, l40s_8q, l40s_48q};
    return gpu;
}

inline OfferedType offered(const VgpuType& type, std::uint32_t instances = 1,
                           std::uint32_t most = 0) {
    return {type, framebuffer_mib(type.name), instances, most};
}

/// A free managed VF that offers `types`.
inline DeviceInfo vf(const char* address, const char* gpu, const std::vector<VgpuType>& types) {
    DeviceInfo device;
    device.function = pci(address);
    device.gpu = pci(gpu);
    device.framework = FrameworkKind::vendor_vfio;
    device.type_id = 0;
    device.managed = true;
    device.driver = "nvidia";
    device.in_use = false;
    for (const VgpuType& type : types) {
        device.offers.push_back(offered(type));
    }
    return device;
}

/// The same, carrying a type that nobody has claimed.
inline DeviceInfo dirty(DeviceInfo device, const VgpuType& type) {
    device.type_id = type.id;
    device.profile = type.name;
    device.offers.clear();
    return device;
}

inline Claim claim_by(int domain, const VgpuType& type) {
    Claim claim;
    claim.profile = type.name;
    claim.type_id = type.id;
    claim.domain_uuid = uuid(domain);
    claim.domain_name = "vm" + std::to_string(domain);
    claim.device = "vgpu0";
    claim.state = ClaimState::configured;
    claim.incarnation = uuid(200);
    claim.boot_id = "boot";
    claim.claimed_at = "2026-11-29T14:00:00Z";
    return claim;
}

/// The same, carrying a type that a domain has claimed.
inline DeviceInfo claimed(DeviceInfo device, const VgpuType& type, int domain = 1) {
    device = dirty(std::move(device), type);
    Claim claim = claim_by(domain, type);
    claim.gpu = device.gpu;
    device.claim = StoredClaim{device.key(), claim};
    return device;
}

/// With the claims of its devices in its list of claims.
inline Inventory host_of(std::vector<GpuInfo> gpus, std::vector<DeviceInfo> devices) {
    Inventory inventory;
    inventory.gpus = std::move(gpus);
    inventory.devices = std::move(devices);
    for (const DeviceInfo& device : inventory.devices) {
        if (device.claim) {
            inventory.claims.push_back(*device.claim);
        }
    }
    return inventory;
}

} // namespace vgpu::test
