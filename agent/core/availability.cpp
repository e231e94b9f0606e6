#include "agent/core/availability.hpp"

#include "agent/core/profile_name.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

namespace vgpu {

namespace {

/// One GPU as it would be once everything repairable has been repaired.
class Gpu {
public:
    explicit Gpu(const GpuInfo& info) : info_(info) {}

    void add(const DeviceInfo& row) {
        for (const OfferedType& offered : row.offers) {
            const auto size = offered.framebuffer_mib;
            sizes_.emplace(offered.type.id, size);
            if (is_clean(row) && offered.instances > 0) {
                largest_offered_ = std::max(largest_offered_, size);
            }
            if (offered.most > 0) {
                most_[offered.type.id] = offered.most;
            }
        }
        if (is_clean(row)) {
            clean_.push_back(&row);
        } else if (is_repairable(row)) {
            ++repairable_;
        } else if (row.allocated()) {
            living_.push_back(&row);
        }
    }

    /// To be called when all rows have been added.
    void sum_up() {
        for (const DeviceInfo* row : living_) {
            const std::uint32_t size = size_of_living(*row);
            living_sizes_.insert(size);
            used_ += size;
            reserved_ += row->type_id == 0U ? size : 0;
        }
    }

    [[nodiscard]] std::uint32_t size_of(const VgpuType& type) const {
        const auto found = sizes_.find(type.id);
        return found != sizes_.end() && found->second > 0 ? found->second
                                                          : framebuffer_mib(type.name);
    }

    [[nodiscard]] std::uint32_t available(const VgpuType& type) const {
        const bool after_repair = repairable_ > 0 && fits_beside_living(size_of(type));
        std::uint32_t takers = 0;
        bool offered = false;
        for (const DeviceInfo* row : clean_) {
            const std::uint32_t instances = instances_on(*row, type);
            offered = offered || instances > 0;
            takers += after_repair ? std::max(instances, 1U) : instances;
        }
        if (!offered && !after_repair) {
            return 0;
        }
        return std::min(takers + repairable_, room_for(type, offered));
    }

private:
    [[nodiscard]] std::uint32_t size_of_living(const DeviceInfo& row) const {
        if (row.type_id.value_or(0) != 0) {
            const std::uint32_t size = size_of({*row.type_id, row.profile});
            if (size > 0) {
                return size;
            }
        }
        return row.claim && row.claim->claim ? framebuffer_mib(row.claim->claim->profile) : 0;
    }

    /// Equal sizes are what every mode allows; what is offered now says the rest.
    [[nodiscard]] bool fits_beside_living(std::uint32_t size) const {
        return living_sizes_.empty() || living_sizes_ == std::set<std::uint32_t>{size};
    }

    [[nodiscard]] static std::uint32_t instances_on(const DeviceInfo& row, const VgpuType& type) {
        for (const OfferedType& offered : row.offers) {
            if (offered.type == type) {
                return row.function == row.gpu ? offered.instances
                                               : std::min(offered.instances, 1U);
            }
        }
        return 0;
    }

    [[nodiscard]] std::uint32_t room_for(const VgpuType& type, bool offered) const {
        const std::uint32_t size = size_of(type);
        // The driver knows nothing of claims whose device carries no type yet.
        std::uint64_t left = largest_offered_ > reserved_ ? largest_offered_ - reserved_ : 0;
        if (!living_sizes_.contains(0) && info_.framebuffer_mib > used_) {
            left = std::max(left, info_.framebuffer_mib - used_);
        }
        std::uint64_t count = size > 0 ? left / size : 0;
        if (offered && reserved_ == 0) {
            count = std::max<std::uint64_t>(count, 1);
        }
        if (const auto most = most_.find(type.id); most != most_.end()) {
            const auto same = static_cast<std::uint64_t>(
                std::count_if(living_.begin(), living_.end(),
                              [&type](const DeviceInfo* row) { return row->type_id == type.id; }));
            count = std::min(count, most->second > same ? most->second - same : 0);
        }
        return static_cast<std::uint32_t>(count);
    }

    const GpuInfo& info_;
    std::vector<const DeviceInfo*> clean_;
    std::vector<const DeviceInfo*> living_;
    std::uint32_t repairable_ = 0;
    std::uint64_t used_ = 0;
    std::uint64_t reserved_ = 0; ///< the part of it that the driver does not know of
    std::uint32_t largest_offered_ = 0;
    std::set<std::uint32_t> living_sizes_; ///< 0: one of unknown size
    std::map<std::uint32_t, std::uint32_t> sizes_;
    std::map<std::uint32_t, std::uint32_t> most_;
};

Gpu summed_up(const Inventory& inventory, const GpuInfo& info) {
    Gpu gpu(info);
    for (const DeviceInfo& row : inventory.devices) {
        if (row.gpu == info.address) {
            gpu.add(row);
        }
    }
    gpu.sum_up();
    return gpu;
}

} // namespace

bool is_clean(const DeviceInfo& row) {
    return row.managed && row.error.empty() && row.framework && row.type_id == 0U && !row.claim &&
           !row.in_use.value_or(false);
}

bool is_repairable(const DeviceInfo& row) {
    // A failed scan proves nothing: an unknown holder counts as one.
    if (!row.managed || !row.error.empty() || row.in_use.value_or(true) || row.foreign()) {
        return false;
    }
    return row.claim ? row.claim_over : row.dirty();
}

std::uint32_t available_on(const Inventory& inventory, const GpuInfo& gpu, const VgpuType& type) {
    return gpu.managed ? summed_up(inventory, gpu).available(type) : 0;
}

std::vector<ProfileInfo> profiles_of(const Inventory& inventory) {
    // Two GPUs may number one name differently, or name one number differently.
    std::map<std::pair<std::string, std::uint32_t>, ProfileInfo> profiles;
    for (const GpuInfo& info : inventory.gpus) {
        if (!info.managed) {
            continue;
        }
        const Gpu gpu = summed_up(inventory, info);
        for (const VgpuType& type : info.types) {
            auto [found, added] = profiles.try_emplace(
                std::pair(normal_profile(type.name), type.id), ProfileInfo{type, 0, 0});
            found->second.framebuffer_mib =
                std::max(found->second.framebuffer_mib, gpu.size_of(type));
            found->second.available += gpu.available(type);
        }
    }
    std::vector<ProfileInfo> sorted;
    for (auto& [key, profile] : profiles) {
        sorted.push_back(std::move(profile));
    }
    std::stable_sort(sorted.begin(), sorted.end(), [](const ProfileInfo& a, const ProfileInfo& b) {
        return std::tie(a.framebuffer_mib, a.type.name) < std::tie(b.framebuffer_mib, b.type.name);
    });
    return sorted;
}

} // namespace vgpu
