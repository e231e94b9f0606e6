#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>

namespace vgpu::simulator {

enum class Framework {
    vendor_vfio, ///< VFs with nvidia/current_vgpu_type
    mdev,        ///< VFs with mdev_supported_types
    mdev_pf,     ///< a GPU without SR-IOV that is an mdev parent itself
    none,        ///< driver bound, neither of them offered
};

struct VgpuType {
    std::uint32_t id = 0;
    std::string name;
    std::uint32_t framebuffer_mib = 0;
    std::uint32_t slices = 0; ///< GPU instance size of a MIG-backed type, 0: time-sliced
};

/// What a GPU model fixes. Types are only ever appended: VFs point at them.
struct Board {
    std::string name;
    std::uint16_t device_id = 0;
    std::uint16_t subsystem_id = 0;
    std::uint32_t framebuffer_mib = 0;
    std::uint32_t first_vf = 4; ///< routing id offset of VF 0
    std::uint32_t total_vfs = 32;
    std::uint32_t max_vgpus = 32; ///< ceiling on vGPUs of a card, however many VFs it has
    std::uint32_t slices = 0;     ///< MIG slices, 0: no MIG
    Framework framework = Framework::vendor_vfio;
    std::deque<VgpuType> types;

    [[nodiscard]] const VgpuType* find(std::uint32_t id) const;
    /// By full name or by what follows its prefix ("L40S-4Q").
    [[nodiscard]] const VgpuType* find(const std::string& name) const;
};

using Boards = std::map<std::string, std::shared_ptr<Board>, std::less<>>;

/// The models that are built in, by the name used in `model=`.
[[nodiscard]] Boards built_in_boards();

} // namespace vgpu::simulator
