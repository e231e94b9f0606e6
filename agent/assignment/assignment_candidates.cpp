#include "agent/assignment/assignment_candidates.hpp"

#include "agent/core/availability.hpp"
#include "agent/core/profile_name.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace vgpu {

namespace {

using xml::VgpuRequest;

/// Why devices that support the profile will not do.
struct Tally {
    int supporting = 0;
    int claimed = 0;
    int in_use = 0;
    int unusable = 0; ///< unreadable, foreign, not managed, or another device of this domain
    int no_room = 0;
    int blocked = 0; ///< by the libvirt that is there
};

Result<void> wanted_gpu_is_usable(const Inventory& inventory, const VgpuRequest& request) {
    if (!request.gpu) {
        return {};
    }
    const std::string address = request.gpu->to_string();
    const GpuInfo* gpu = inventory.gpu(*request.gpu);
    if (gpu == nullptr) {
        return fail(
            ErrorCode::not_found,
            fmt::format("there is no NVIDIA GPU {} on this host; see `virt-vgpu gpus`", address));
    }
    if (!gpu->managed) {
        return fail(ErrorCode::denied,
                    fmt::format("GPU {} is not given to virt-vgpu by its configuration ([gpus] "
                                "managed, ignored)",
                                address));
    }
    if (!gpu->framework) {
        return fail(ErrorCode::unavailable,
                    fmt::format("GPU {} makes no vGPUs: {}", address, gpu->reason));
    }
    return {};
}

/// What the profile is on each managed GPU that supports it.
Result<std::map<PciAddress, VgpuType>> find_types(const Inventory& inventory,
                                                  const VgpuRequest& request) {
    VGPU_TRY(wanted_gpu_is_usable(inventory, request));
    std::map<PciAddress, VgpuType> types;
    std::vector<VgpuType> known;
    std::set<std::string> names;
    for (const GpuInfo& gpu : inventory.gpus) {
        if (!gpu.managed || (request.gpu && gpu.address != *request.gpu)) {
            continue;
        }
        known.insert(known.end(), gpu.types.begin(), gpu.types.end());
        const auto type = find_type(request.profile, gpu.types);
        if (type) {
            types.emplace(gpu.address, *type);
            names.insert(normal_profile(type->name));
        } else if (type.error().code() == ErrorCode::conflict) {
            return fail(type.error().in("GPU " + gpu.address.to_string()));
        }
    }
    if (names.size() > 1) {
        return fail(
            ErrorCode::conflict,
            fmt::format("type id {} means different profiles on the GPUs of this host ({}); "
                        "use the name, or --gpu",
                        printable(request.profile, 40), fmt::join(names, ", ")));
    }
    if (types.empty()) {
        return fail(
            find_type(request.profile, known)
                .error()
                .hint(known.empty() ? "see `virt-vgpu doctor`" : "see `virt-vgpu profiles`"));
    }
    return types;
}

bool offers(const DeviceInfo& row, const VgpuType& type) {
    return std::any_of(row.offers.begin(), row.offers.end(), [&type](const OfferedType& offered) {
        return offered.type == type && offered.instances > 0;
    });
}

class Search {
public:
    Search(const PlanInput& input, const std::optional<DeviceKey>& present,
           const std::set<DeviceKey>& taken)
        : input_(input), present_(present), taken_(taken) {}

    void look_at(const DeviceInfo& row, const VgpuType& type, bool blocked) {
        ++tally_.supporting;
        if (blocked) {
            ++tally_.blocked;
            return;
        }
        if (!may_be_had(row)) {
            return;
        }
        if (!can_become(row, type)) {
            ++tally_.no_room;
            return;
        }
        const bool named =
            row.framework == FrameworkKind::vendor_vfio && named_by(input_, row.key()) != nullptr;
        (named ? named_ : unnamed_)
            .push_back({row.function, row.gpu, !row.dirty(), row.suspect, row.numa_node});
    }

    /// What was found, with the reason in case that is nothing.
    Candidates result(std::map<PciAddress, VgpuType> types, const std::optional<Error>& obstacle) {
        Candidates candidates{std::move(types), std::move(unnamed_), std::move(named_)};
        if (obstacle && tally_.blocked == tally_.supporting) {
            candidates.why_none = *obstacle;
            return candidates;
        }
        candidates.why_none = Error(
            ErrorCode::unavailable,
            fmt::format("no device is free for {}: of {} that support it {} claimed, {} in use, {} "
                        "not usable, {} on a GPU without room for it now (full, or it carries "
                        "another framebuffer size){}; see `virt-vgpu devices`",
                        printable(candidates.types.begin()->second.name, 80), tally_.supporting,
                        tally_.claimed, tally_.in_use, tally_.unusable, tally_.no_room,
                        tally_.blocked > 0 ? ", the others need another libvirt" : ""));
        return candidates;
    }

private:
    /// It is nobody's, or this domain's own; counted otherwise.
    bool may_be_had(const DeviceInfo& row) {
        if (present_ == row.key() && is_own(input_, row)) {
            return true;
        }
        const bool taken =
            row.framework == FrameworkKind::vendor_vfio && taken_.contains(row.key());
        if (!taken && (is_clean(row) || is_repairable(row))) {
            return true;
        }
        const bool usable = !taken && row.managed && row.error.empty() && !row.foreign();
        ++(!usable                     ? tally_.unusable
           : row.claim                 ? tally_.claimed
           : row.in_use.value_or(true) ? tally_.in_use
                                       : tally_.unusable);
        return false;
    }

    /// The driver says so of a clean device; where it says so of none on the GPU, a repair may
    /// help.
    [[nodiscard]] bool can_become(const DeviceInfo& row, const VgpuType& type) const {
        if (is_own(input_, row) || (is_clean(row) && offers(row, type))) {
            return true;
        }
        const auto& rows = input_.inventory.devices;
        const bool offered_beside =
            std::any_of(rows.begin(), rows.end(), [&](const DeviceInfo& other) {
                return other.gpu == row.gpu && is_clean(other) && offers(other, type);
            });
        return (!is_clean(row) || !offered_beside) &&
               available_on(input_.inventory, *input_.inventory.gpu(row.gpu), type) > 0;
    }

    const PlanInput& input_;
    const std::optional<DeviceKey>& present_;
    const std::set<DeviceKey>& taken_;
    std::vector<Candidate> unnamed_;
    std::vector<Candidate> named_;
    Tally tally_;
};

} // namespace

const DeviceInfo* row_of(const Inventory& inventory, const DeviceKey& key) {
    const auto found = std::find_if(inventory.devices.begin(), inventory.devices.end(),
                                    [&key](const DeviceInfo& row) { return row.key() == key; });
    return found == inventory.devices.end() ? nullptr : &*found;
}

const NamedDevice* named_by(const PlanInput& input, const DeviceKey& key) {
    const auto found =
        std::find_if(input.elsewhere.begin(), input.elsewhere.end(),
                     [&key](const NamedDevice& named) { return named.device == key; });
    return found == input.elsewhere.end() ? nullptr : &*found;
}

bool is_own(const PlanInput& input, const DeviceInfo& row) {
    return row.claim && row.claim->claim && row.claim->claim->managed &&
           row.claim->claim->domain_uuid == input.domain.uuid;
}

Result<Candidates> find_candidates(const PlanInput& input, const VgpuRequest& request,
                                   const std::optional<DeviceKey>& present,
                                   const std::set<DeviceKey>& taken) {
    VGPU_TRY_ASSIGN(auto types, find_types(input.inventory, request));
    const auto obstacle = vendor_vfio_obstacle(input.hypervisor);
    Search search(input, present, taken);
    for (const DeviceInfo& row : input.inventory.devices) {
        const auto type = types.find(row.gpu);
        if (type != types.end() && row.framework) {
            search.look_at(row, type->second,
                           obstacle && row.framework == FrameworkKind::vendor_vfio);
        }
    }
    return search.result(std::move(types), obstacle);
}

} // namespace vgpu
