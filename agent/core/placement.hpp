#pragma once

#include "agent/core/claim_store.hpp"
#include "agent/core/ids.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace vgpu {

/// A place where a vGPU could go: a VF, or the parent of an mdev.
struct Candidate {
    PciAddress function;
    PciAddress gpu;
    bool clean = true;    ///< false: carries a type that has to be reset first
    bool suspect = false; ///< its last VMM was killed while the vGPU may have been initialising
    int numa_node = -1;
};

/// How much of a GPU is claimed.
struct GpuLoad {
    std::uint64_t claimed_mib = 0;
    bool known =
        true; ///< false: a claim's profile says nothing of its size, or a claim cannot be read
};

using GpuLoads = std::map<PciAddress, GpuLoad>;

/// The load of each GPU that has claims. A claim that cannot be read makes its GPU unknown if its
/// device's GPU is told by `gpu_of`.
[[nodiscard]] GpuLoads
loads_of(const std::vector<StoredClaim>& claims,
         const std::function<std::optional<PciAddress>(const DeviceKey&)>& gpu_of);

/// Returns a number below `bound` (> 0), evenly distributed.
using RandomBelow = std::function<std::size_t(std::size_t bound)>;
[[nodiscard]] std::size_t random_below(std::size_t bound);

/// Which GPUs are filled first.
enum class Packing {
    spread, ///< the one with the least claimed framebuffer
    pack    ///< the one with the most, to keep others whole for large profiles
};

struct PlacementWish {
    std::optional<PciAddress> gpu; ///< only on this GPU
    std::optional<int> numa_node;  ///< preferred, not required
    Packing packing = Packing::spread;
    std::set<PciAddress> avoid; ///< GPUs that come last: the domain has a device there already
};

/// The candidates in the order in which they should be tried: devices that are no suspects, GPUs
/// that need not be avoided, the wished NUMA node, then GPUs with the least claimed framebuffer
/// (most, for Packing::pack; unknown load after known), then by GPU address; on one GPU clean
/// devices before dirty ones, in random order among equals, so that one bad VF does not take every
/// start. Candidates that the wish rules out are left out. Pure, but for `random`.
[[nodiscard]] std::vector<Candidate> rank(std::vector<Candidate> candidates, const GpuLoads& loads,
                                          const PlacementWish& wish, const RandomBelow& random);

} // namespace vgpu
