#include "agent/core/placement.hpp"

#include "agent/core/profile_name.hpp"

#include <sys/random.h>

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

namespace vgpu {

GpuLoads loads_of(const std::vector<StoredClaim>& claims,
                  const std::function<std::optional<PciAddress>(const DeviceKey&)>& gpu_of) {
    GpuLoads loads;
    for (const StoredClaim& stored : claims) {
        const auto gpu = stored.claim && stored.claim->gpu ? stored.claim->gpu : gpu_of(stored.key);
        if (!gpu) {
            continue;
        }
        GpuLoad& load = loads[*gpu];
        const std::uint32_t size = stored.claim ? framebuffer_mib(stored.claim->profile) : 0;
        load.claimed_mib += size;
        load.known = load.known && size > 0;
    }
    return loads;
}

std::size_t random_below(std::size_t bound) {
    std::uint32_t value = 0;
    // Never blocks after boot, and a short read of 4 bytes does not happen (getrandom(2)).
    if (::getrandom(&value, sizeof value, 0) != static_cast<ssize_t>(sizeof value)) {
        value = 0;
    }
    return value % bound;
}

std::vector<Candidate> rank(std::vector<Candidate> candidates, const GpuLoads& loads,
                            const PlacementWish& wish, const RandomBelow& random) {
    if (wish.gpu) {
        std::erase_if(candidates, [&wish](const Candidate& c) { return c.gpu != *wish.gpu; });
    }
    for (std::size_t left = candidates.size(); left > 1; --left) {
        std::swap(candidates[left - 1], candidates[random(left)]);
    }
    const auto order = [&loads, &wish](const Candidate& c) {
        const auto it = loads.find(c.gpu);
        const GpuLoad load = it == loads.end() ? GpuLoad{} : it->second;
        const bool elsewhere = wish.numa_node && c.numa_node != *wish.numa_node;
        const std::uint64_t fullness =
            wish.packing == Packing::pack
                ? std::numeric_limits<std::uint64_t>::max() - load.claimed_mib
                : load.claimed_mib;
        return std::tuple(c.suspect, wish.avoid.contains(c.gpu), elsewhere, !load.known, fullness,
                          c.gpu, !c.clean);
    };
    std::stable_sort(
        candidates.begin(), candidates.end(),
        [&order](const Candidate& a, const Candidate& b) { return order(a) < order(b); });
    return candidates;
}

} // namespace vgpu
