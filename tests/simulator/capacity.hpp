#pragma once

#include "tests/simulator/boards.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace vgpu::simulator {

/// Where the driver put a vGPU.
struct Placement {
    std::uint32_t id = 0;                  ///< `placement_id`
    std::optional<std::uint32_t> instance; ///< `gpu_instance_id`, MIG only
    bool forced = false;                   ///< put there against the rules by a test
};

/// Framebuffer split for vGPUs of mixed sizes: each takes the smallest power-of-two fraction of the
/// card that holds it, aligned to its own size. This gives the documented limits (three 16 GB vGPUs
/// fit on a 48 GB card of equal sizes, two of mixed sizes) and makes fragmentation real.
class MixedSlots {
public:
    explicit MixedSlots(std::uint32_t framebuffer_mib) : framebuffer_mib_(framebuffer_mib) {}

    [[nodiscard]] std::uint32_t available(std::uint32_t size_mib) const;
    /// The start of the lowest free slot, in units of the smallest slot; nullopt when there is
    /// none.
    std::optional<std::uint32_t> take(std::uint32_t size_mib);
    void give_back(std::uint32_t size_mib, std::uint32_t start);

private:
    static constexpr std::uint32_t smallest_parts = 128;

    [[nodiscard]] std::optional<std::uint32_t> length(std::uint32_t size_mib) const;
    [[nodiscard]] bool is_free(std::uint32_t start, std::uint32_t length) const;

    std::uint32_t framebuffer_mib_;
    std::vector<bool> taken_ = std::vector<bool>(smallest_parts);
};

/// Which vGPUs a card can still make. Sums are kept, so that asking costs the same with 4 VFs as
/// with 4096.
class Capacity {
public:
    Capacity(const Board& board, std::uint32_t framebuffer_mib, std::uint32_t max_vgpus)
        : board_(&board), framebuffer_mib_(framebuffer_mib), max_vgpus_(max_vgpus),
          slots_(framebuffer_mib) {}

    [[nodiscard]] std::uint32_t available(const VgpuType& type) const;
    /// nullopt when the card cannot make it now.
    std::optional<Placement> take(const VgpuType& type);
    /// Books it whether the card can make it or not.
    Placement force(const VgpuType& type);
    void give_back(const VgpuType& type, const Placement& placement);

    [[nodiscard]] bool in_use() const { return count_ > 0; }
    [[nodiscard]] std::uint32_t used_mib() const { return used_mib_; }
    [[nodiscard]] std::uint32_t count() const { return count_; }

    [[nodiscard]] bool mixed() const { return mixed_; }
    /// False, and nothing done, while a vGPU exists.
    bool set_mixed(bool on);
    [[nodiscard]] bool mig() const { return mig_; }
    /// False, and nothing done, while a vGPU exists or when the card has no MIG.
    bool set_mig(bool on);
    [[nodiscard]] std::size_t instances() const { return instances_.size(); }
    /// Makes GPU instances of `slices`; false when they do not all fit or MIG is off.
    bool add_instances(std::uint32_t slices, std::uint32_t count);
    void destroy_instances() { instances_.clear(); }

private:
    struct Instance {
        std::uint32_t id = 0;
        std::uint32_t slices = 0;
        std::uint32_t framebuffer_mib = 0;
        std::uint32_t size_mib = 0; ///< of the vGPUs in it, all alike
        std::vector<bool> taken;
    };
    [[nodiscard]] std::uint32_t room(const Instance& instance, const VgpuType& type) const;
    Placement take_in_instance(const VgpuType& type);
    void book(const VgpuType& type);

    const Board* board_;
    std::uint32_t framebuffer_mib_;
    std::uint32_t max_vgpus_;
    bool mixed_ = false;
    bool mig_ = false;
    std::uint32_t used_mib_ = 0;
    std::uint32_t count_ = 0;
    std::map<std::uint32_t, std::uint32_t> sizes_; ///< framebuffer size -> vGPUs of that size
    std::vector<bool> equal_slots_;
    MixedSlots slots_;
    std::vector<Instance> instances_;
};

} // namespace vgpu::simulator
