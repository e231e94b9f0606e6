#include "agent/core/catalogue_memory.hpp"
#include "agent/core/device_release.hpp"
#include "agent/core/preparation.hpp"
#include "agent/core/profile_name.hpp"
#include "agent/core/topology.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace vgpu {

namespace {

using std::chrono::seconds;

CatalogueMemory load_memory(Host& host, const DeviceKey& key) {
    auto memory = CatalogueMemory::load(host.config.paths.catalogue());
    if (!memory) {
        host.note(NoteLevel::warning, memory.error().text(), key);
        return {};
    }
    return std::move(*memory);
}

/// What the GPU is known to support: what was ever seen, and what any of its VFs offers now.
std::vector<VgpuType> known_types(Host& host, Framework& framework, const PciAddress& gpu,
                                  const std::vector<PciAddress>& vfs) {
    std::vector<VgpuType> known;
    const auto model = model_of(host.sysfs, gpu);
    CatalogueMemory memory = load_memory(host, DeviceKey(gpu));
    for (const PciAddress& vf : vfs) {
        const auto now = framework.creatable(vf);
        if (now && model) {
            memory.learn(*model, *now);
        }
        if (now) {
            known.insert(known.end(), now->begin(), now->end());
        }
    }
    if (model) {
        const auto remembered = memory.types(*model);
        known.insert(known.end(), remembered.begin(), remembered.end());
    }
    if (memory.changed()) {
        const auto saved = memory.save(host.config.paths.catalogue());
        if (!saved) {
            host.note(NoteLevel::warning, saved.error().text(), DeviceKey(gpu));
        }
    }
    return known;
}

std::set<std::uint32_t> sizes_of(const std::vector<VgpuType>& types) {
    std::set<std::uint32_t> sizes;
    for (const VgpuType& type : types) {
        sizes.insert(framebuffer_mib(type.name));
    }
    return sizes;
}

/// A mistyped profile must not cost anybody a device: the GPU has to be known to support it. Types
/// of several sizes are what a GPU shows when nothing on it is in use: then the list is whole.
/// Types of one size, or none, may be all that is left beside a vGPU in use: then a name will do
/// that such a board could have.
bool may_support(const std::vector<VgpuType>& known, const std::string& profile) {
    if (std::any_of(known.begin(), known.end(),
                    [&profile](const VgpuType& type) { return matches(profile, type); })) {
        return true;
    }
    if (sizes_of(known).size() > 1) {
        return false;
    }
    const auto name = ProfileName::parse(profile);
    if (!name) {
        return known.empty() && requested_type_id(profile).has_value();
    }
    const auto same_board = [&name](const VgpuType& type) {
        const auto other = ProfileName::parse(type.name);
        return other && normal_profile(other->board) == normal_profile(name->board);
    };
    return known.empty() || std::any_of(known.begin(), known.end(), same_board);
}

/// The first whole list that a host shows is worth a note: later ones may be cut to what fits
/// beside vGPUs in use.
void learn_first_list(Host& host, const PciAddress& gpu, const std::vector<VgpuType>& types) {
    if (::access(host.config.paths.catalogue().c_str(), F_OK) == 0 || sizes_of(types).size() < 2) {
        return;
    }
    const auto model = model_of(host.sysfs, gpu);
    if (!model) {
        return;
    }
    CatalogueMemory memory;
    memory.learn(*model, types);
    const auto saved = memory.save(host.config.paths.catalogue());
    if (!saved) {
        host.note(NoteLevel::warning, saved.error().text(), DeviceKey(gpu));
    }
}

struct Carried {
    int count = 0;
    std::map<std::uint32_t, int> by_size; ///< framebuffer in MiB (0: unknown) -> devices
};

/// What the VFs of a GPU carry now, with the sizes as far as the names of their types are known.
Carried carried_by(Framework& framework, const std::vector<PciAddress>& vfs,
                   const std::vector<VgpuType>& known) {
    Carried carried;
    for (const PciAddress& vf : vfs) {
        const auto type = framework.type(DeviceKey(vf));
        if (!type || *type == 0) {
            continue;
        }
        ++carried.count;
        const auto named = std::find_if(known.begin(), known.end(),
                                        [&type](const VgpuType& t) { return t.id == *type; });
        ++carried.by_size[named == known.end() ? 0 : framebuffer_mib(named->name)];
    }
    return carried;
}

Error other_size(const std::string& start, const Carried& carried, std::uint32_t wanted_mib) {
    std::vector<std::string> sizes;
    for (const auto& [size, count] : carried.by_size) {
        sizes.push_back(size == 0 ? fmt::format("{} of unknown size", count)
                                  : fmt::format("{} of {} MiB", count, size));
    }
    return Error(ErrorCode::unavailable,
                 fmt::format("{}: the GPU carries {} vGPU(s) ({}), asked for is {} MiB; in "
                             "equal-size mode a GPU takes one "
                             "framebuffer size at a time: stop those VMs, take another GPU, or "
                             "enable mixed-size mode "
                             "(nvidia-smi vgpu -shm 1)",
                             start, carried.count, fmt::join(sizes, ", "), wanted_mib));
}

Result<VgpuType> type_to_create(Host& host, Slot& slot, Deadline deadline) {
    const std::string& profile = slot.wanted->profile;
    VGPU_TRY_ASSIGN(auto types, slot.framework->creatable(*slot.function));
    learn_first_list(host, *slot.gpu, types);
    auto type = find_type(profile, types);
    if (type || type.error().code() != ErrorCode::not_found) {
        return type;
    }
    if (slot.framework->kind() == FrameworkKind::vendor_vfio) {
        VGPU_TRY_ASSIGN(const int freed,
                        make_room(host, FrameworkKind::vendor_vfio, *slot.gpu, profile, deadline));
        if (freed > 0) {
            VGPU_TRY_ASSIGN(types, slot.framework->creatable(*slot.function));
            type = find_type(profile, types);
        }
    }
    if (!type && type.error().code() == ErrorCode::not_found) {
        return fail(why_not(host, *slot.framework, *slot.function, *slot.gpu, profile, types));
    }
    return type;
}

} // namespace

Result<int> make_room(Host& host, FrameworkKind kind, const PciAddress& gpu,
                      const std::string& profile, Deadline deadline) {
    const auto framework = host.framework(kind);
    VGPU_TRY_ASSIGN(const auto vfs, vfs_of(host.sysfs, gpu));
    const auto known = known_types(host, *framework, gpu, vfs);
    if (!may_support(known, profile)) {
        return 0;
    }
    int freed = 0;
    for (const PciAddress& vf : vfs) {
        const DeviceKey key(vf);
        const auto type = framework->type(key);
        if (!type || *type == 0 || !host.config.manages(gpu, vf)) {
            continue;
        }
        const auto repaired = repair(host, kind, key, deadline.within(seconds(2)));
        if (!repaired) {
            host.note(
                NoteLevel::warning,
                fmt::format("{} could not be cleaned: {}", key.device(), repaired.error().text()),
                key);
        } else if (*repaired) {
            ++freed;
        }
    }
    return freed;
}

Error why_not(Host& host, Framework& framework, const PciAddress& function, const PciAddress& gpu,
              const std::string& profile, const std::vector<VgpuType>& creatable) {
    const std::string shown = printable(profile, 80);
    const std::string start = fmt::format("{} cannot be created on {} (GPU {}) now", shown,
                                          function.to_string(), gpu.to_string());
    const auto vfs = vfs_of(host.sysfs, gpu).value_or(std::vector<PciAddress>{function});
    const auto known = known_types(host, framework, gpu, vfs);
    const Carried carried = carried_by(framework, vfs, known);
    if (!known.empty() && !may_support(known, profile)) {
        const auto nearest = find_type(profile, known);
        return Error(ErrorCode::not_found,
                     fmt::format("GPU {} has no profile {}: {}", gpu.to_string(), shown,
                                 nearest ? "" : nearest.error().text()));
    }
    if (carried.count == 0 && creatable.empty()) {
        return Error(ErrorCode::unavailable,
                     fmt::format("{}: the GPU offers no type at all; in MIG mode its GPU instances "
                                 "have to be created first "
                                 "(nvidia-smi mig -cgi), otherwise look at the nvidia driver's log",
                                 start));
    }
    std::uint32_t wanted = framebuffer_mib(profile);
    const auto named = find_type(profile, known);
    if (wanted == 0 && named) {
        wanted = framebuffer_mib(named->name);
    }
    const bool same_size = carried.by_size.size() == 1 && carried.by_size.contains(wanted);
    if (carried.count > 0 && !same_size) {
        return other_size(start, carried, wanted);
    }
    return Error(
        ErrorCode::unavailable,
        fmt::format("{}: the GPU carries {} vGPU(s) and has no room for another of {} MiB; see "
                    "`virt-vgpu claims`",
                    start, carried.count, wanted));
}

Result<VgpuType> configure(Host& host, const DeviceLock& lock, Slot& slot, Deadline deadline) {
    if (slot.leftover != 0) {
        // Also when it is the wanted type already: what an earlier guest left in it would survive.
        VGPU_TRY(slot.framework->reset(lock, deadline.within(seconds(10)),
                                       std::chrono::milliseconds(0)));
        host.note(NoteLevel::info,
                  fmt::format("{} carried type {} before it was claimed: reset", slot.key.device(),
                              slot.leftover),
                  slot.key);
    }
    const auto type = type_to_create(host, slot, deadline);
    if (!type) {
        slot.parent_refused = true;
        return type;
    }
    const auto created = slot.framework->create(lock, *slot.function, *type, slot.wanted->params);
    if (!created) {
        // A vGPU that is there was made, and something else was refused: its parameters.
        slot.parent_refused = slot.framework->type(slot.key).value_or(1) == 0;
        return fail(created.error());
    }
    return type;
}

} // namespace vgpu
