#include "agent/cli/doctor.hpp"

#include <fmt/format.h>

#include <sys/stat.h>

#include <algorithm>

namespace vgpu::cli {

namespace {

constexpr const char* iommu = "iommu";
constexpr const char* gpus = "gpus";

std::size_t entries(Sysfs& sysfs, const std::string& path) {
    const auto names = sysfs.list(path);
    return names ? names->size() : 0;
}

/// VFs are isolated by the IOMMU; mdevs by the driver alone.
bool needs_iommu(const GpuInfo& gpu) {
    return gpu.managed && gpu.framework != FrameworkKind::mdev &&
           (gpu.framework.has_value() || gpu.total_vfs > 0);
}

void check_driver(const GpuInfo& gpu, Findings& findings) {
    const std::string address = gpu.address.to_string();
    if (gpu.driver.empty()) {
        findings.fail(gpus, fmt::format("GPU {} ({}) has no driver", address, gpu.name),
                      "install NVIDIA's vGPU host driver and load it (modprobe nvidia); the kernel "
                      "log says why if it refuses");
    } else if (gpu.driver == "vfio-pci") {
        findings.warn(
            gpus,
            fmt::format("GPU {} ({}) is bound to vfio-pci: it can be given away as a whole, "
                        "and makes no vGPUs",
                        address, gpu.name),
            fmt::format("list it in [gpus] ignored, or give it back to the nvidia driver "
                        "(virsh nodedev-reattach pci_{:04x}_{:02x}_{:02x}_{:x})",
                        gpu.address.domain, gpu.address.bus, gpu.address.slot,
                        gpu.address.function));
    } else {
        findings.fail(
            gpus,
            fmt::format("GPU {} ({}) is bound to the driver {}", address, gpu.name, gpu.driver),
            "vGPUs need NVIDIA's vGPU host driver, nvidia; keep the other one from loading "
            "(modprobe.d: blacklist)");
    }
}

void check_framework(const GpuInfo& gpu, Findings& findings) {
    const std::string address = gpu.address.to_string();
    if (gpu.framework) {
        const std::string seen = fmt::format("GPU {} ({}) makes vGPUs by {}", address, gpu.name,
                                             to_string(*gpu.framework));
        if (gpu.reason.empty()) {
            findings.ok(gpus, gpu.total_vfs > 0 ? fmt::format("{}, {} of {} VFs enabled", seen,
                                                              gpu.vfs, gpu.total_vfs)
                                                : seen);
        } else {
            findings.warn(
                gpus, seen + ", but: " + gpu.reason,
                "in MIG mode GPU instances have to be created after the VFs (nvidia-smi mig "
                "-cgi PROFILE -C); otherwise look at the nvidia driver's log");
        }
        return;
    }
    if (gpu.vfs == 0 && gpu.total_vfs > 0) {
        findings.fail(gpus, fmt::format("GPU {} ({}): {}", address, gpu.name, gpu.reason),
                      fmt::format("/usr/lib/nvidia/sriov-manage -e {} (at each boot: VFs do not "
                                  "survive one)",
                                  address));
        return;
    }
    findings.fail(gpus,
                  fmt::format("GPU {} ({}) makes no vGPUs: {}", address, gpu.name, gpu.reason),
                  "check that the driver is the vGPU host driver (not the one for guests or for "
                  "compute) and fits the kernel: nvidia-smi vgpu -s");
}

void check_vf_count(const GpuInfo& gpu, Findings& findings) {
    if (gpu.vfs > 0 && gpu.vfs < gpu.total_vfs) {
        findings.warn(
            gpus,
            fmt::format("GPU {}: only {} of {} VFs are enabled", gpu.address.to_string(), gpu.vfs,
                        gpu.total_vfs),
            "while sriov-manage still works this passes; else disable and enable them when "
            "no vGPU of the GPU is in use (sriov-manage -d, then -e)");
    }
}

void check_vf(const DeviceInfo& device, Findings& findings) {
    const std::string address = device.function.to_string();
    if (!device.framework && device.function != device.gpu && device.driver != "nvidia") {
        findings.warn(
            gpus,
            fmt::format("VF {} is bound to {} instead of nvidia", address,
                        device.driver.empty() ? "no driver" : device.driver),
            fmt::format("a VF that was taken from the nvidia driver refuses every type until "
                        "SR-IOV is cycled: when no vGPU of GPU {} is in use, sriov-manage "
                        "-d and -e",
                        device.gpu.to_string()));
    } else if (!device.error.empty()) {
        findings.warn(gpus, fmt::format("{} cannot be used: {}", address, device.error),
                      "other devices are not affected; the kernel log may say more");
    }
}

} // namespace

void check_iommu(const Examination& examination, Findings& findings) {
    Sysfs& sysfs = examination.host.sysfs;
    const std::size_t groups = entries(sysfs, "kernel/iommu_groups");
    const std::size_t units = entries(sysfs, "class/iommu");
    const auto& all = examination.inventory.gpus;
    if (groups > 0) {
        findings.ok(iommu,
                    fmt::format("on: {} groups, {} unit{}", groups, units, units == 1 ? "" : "s"));
    } else if (std::any_of(all.begin(), all.end(), needs_iommu)) {
        findings.fail(
            iommu, "off: the kernel has no IOMMU groups, and no VF can be given to a VM",
            "enable VT-d or AMD-Vi in the firmware, and boot with intel_iommu=on where the "
            "kernel does not enable it itself");
    } else {
        findings.ok(iommu, "off, which the GPUs of this host do not need");
    }
    const std::string node = examination.host.config.paths.dev + "/vfio/vfio";
    struct stat info{};
    if (!all.empty() && ::stat(node.c_str(), &info) != 0) {
        findings.warn(iommu, fmt::format("there is no {}: VFIO is not loaded", node),
                      "modprobe vfio_iommu_type1; the vGPU host driver does it when it works");
    }
}

void check_gpus(const Examination& examination, Findings& findings) {
    const Inventory& inventory = examination.inventory;
    for (const std::string& problem : inventory.problems) {
        findings.warn(gpus, problem, "run doctor as root; else look at the kernel log");
    }
    if (inventory.gpus.empty()) {
        findings.fail(
            gpus, "no NVIDIA GPU: no PCI function of vendor 10de with a display class",
            "check lspci -d 10de: and the slot; inside a VM or container the GPU has to be "
            "passed in");
        return;
    }
    bool any_managed = false;
    for (const GpuInfo& gpu : inventory.gpus) {
        if (!gpu.managed) {
            findings.ok(gpus, fmt::format("GPU {} ({}) is not given to virt-vgpu: left alone",
                                          gpu.address.to_string(), gpu.name));
            continue;
        }
        any_managed = true;
        if (gpu.driver == "nvidia") {
            check_framework(gpu, findings);
            check_vf_count(gpu, findings);
        } else {
            check_driver(gpu, findings);
        }
    }
    if (!any_managed) {
        findings.warn(gpus, "no GPU is given to virt-vgpu",
                      "name GPUs in [gpus] managed, or \"*\"");
    }
    for (const DeviceInfo& device : inventory.devices) {
        if (device.managed) {
            check_vf(device, findings);
        }
    }
}

} // namespace vgpu::cli
