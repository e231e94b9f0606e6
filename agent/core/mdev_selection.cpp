#include "agent/core/device_release.hpp"
#include "agent/core/mdev.hpp"
#include "agent/core/preparation.hpp"
#include "agent/core/profile_name.hpp"
#include "agent/core/topology.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <map>
#include <utility>

namespace vgpu {

namespace {

/// The functions that make mdevs, with their GPUs; only those given to us. One that cannot be read
/// is left out with a word.
Result<std::vector<Candidate>> managed_parents(Host& host, const Slot& slot) {
    VGPU_TRY_ASSIGN(const auto names, host.sysfs.list("class/mdev_bus"));
    std::vector<Candidate> parents;
    for (const std::string& name : names) {
        const auto function = PciAddress::parse(name);
        if (!function) {
            continue; // an mdev parent that is no PCI device
        }
        const auto gpu = gpu_of(host.sysfs, *function);
        if (!gpu) {
            host.note(NoteLevel::warning,
                      fmt::format("{} is left out: {}", name, gpu.error().text()), slot.key);
            continue;
        }
        if (!host.config.manages(*gpu, *function) ||
            (slot.wanted->gpu && *slot.wanted->gpu != *gpu)) {
            continue;
        }
        parents.push_back({*function, *gpu, true, false, -1});
    }
    return parents;
}

/// How many claims count on each parent: their mdevs exist already or are about to be made.
std::map<PciAddress, int> claims_by_parent(const std::vector<StoredClaim>& claims,
                                           const DeviceKey& own) {
    std::map<PciAddress, int> count;
    for (const StoredClaim& stored : claims) {
        if (stored.key != own && stored.claim && stored.claim->parent) {
            ++count[*stored.claim->parent];
        }
    }
    return count;
}

bool offers(const std::vector<VgpuType>& types, const std::string& profile) {
    return find_type(profile, types).has_value();
}

class Selection {
public:
    Selection(Host& host, Slot& slot, const std::set<PciAddress>& refused)
        : host_(host), slot_(slot), refused_(refused), mdev_(host.sysfs, host.config) {}

    Result<bool> choose() {
        VGPU_TRY_ASSIGN(const auto parents, managed_parents(host_, slot_));
        VGPU_TRY_ASSIGN(auto claims, host_.claims.list());
        // What was claimed before the boot takes no room: mdevs do not outlive it.
        std::erase_if(claims, [this](const StoredClaim& stored) {
            return stored.claim && host_.of_another_boot(*stored.claim);
        });
        const auto counts = claims_by_parent(claims, slot_.key);
        std::vector<Candidate> candidates;
        for (Candidate parent : parents) {
            VGPU_TRY_ASSIGN(const bool usable, is_usable(parent, counts));
            if (usable) {
                parent.numa_node = numa_node_of(host_.sysfs, parent.function);
                candidates.push_back(parent);
            }
        }
        const auto nothing = [](const DeviceKey&) { return std::optional<PciAddress>(); };
        const auto ranked =
            rank(std::move(candidates), loads_of(claims, nothing), {}, random_below);
        if (ranked.empty()) {
            return false;
        }
        slot_.function = ranked.front().function;
        slot_.gpu = ranked.front().gpu;
        return true;
    }

    /// GPUs on which making room could help: those that support the profile at all.
    [[nodiscard]] const std::map<PciAddress, std::set<PciAddress>>& supporting() const {
        return supporting_;
    }

    [[nodiscard]] Error why() const {
        if (supporting_.empty() && unreadable_) {
            return unreadable_->in("no mdev parent that could be read makes mdevs of profile " +
                                   printable(slot_.wanted->profile, 80));
        }
        if (supporting_.empty()) {
            std::set<std::string> offered(all_names_.begin(), all_names_.end());
            return Error(ErrorCode::not_found,
                         fmt::format("no managed GPU{} makes mdevs of profile {}; known: {}",
                                     slot_.wanted->gpu ? " " + slot_.wanted->gpu->to_string() : "",
                                     printable(slot_.wanted->profile, 80),
                                     offered.empty()
                                         ? "none"
                                         : fmt::format("{}", fmt::join(offered, ", "))));
        }
        return Error(
            ErrorCode::unavailable,
            fmt::format(
                "no parent has room for an mdev of profile {}: {} parent(s) support it, all "
                "taken, or their GPU is full or carries another framebuffer size; see "
                "`virt-vgpu devices` and `virt-vgpu claims`",
                printable(slot_.wanted->profile, 80), supporting_count()));
    }

private:
    [[nodiscard]] std::size_t supporting_count() const {
        std::size_t count = 0;
        for (const auto& [gpu, functions] : supporting_) {
            count += functions.size();
        }
        return count;
    }

    Result<bool> is_usable(const Candidate& parent, const std::map<PciAddress, int>& counts) {
        const auto supported = mdev_.supported(parent.function);
        if (!supported) {
            if (supported.error().code() == ErrorCode::timeout) {
                return fail(supported.error());
            }
            host_.note(NoteLevel::warning,
                       fmt::format("{} is left out: {}", parent.function.to_string(),
                                   supported.error().text()),
                       slot_.key);
            unreadable_ = unreadable_ ? unreadable_ : supported.error();
            return false;
        }
        for (const VgpuType& type : *supported) {
            all_names_.insert(type.name);
        }
        if (!offers(*supported, slot_.wanted->profile)) {
            return false;
        }
        supporting_[parent.gpu].insert(parent.function);
        // A VF carries one mdev: a claim on it is enough. A PF of an older card carries many, and
        // counts itself.
        const auto count = counts.find(parent.function);
        if (refused_.contains(parent.function) ||
            (count != counts.end() && parent.function != parent.gpu)) {
            return false;
        }
        const auto creatable = mdev_.creatable(parent.function);
        return creatable && offers(*creatable, slot_.wanted->profile);
    }

    Host& host_;
    Slot& slot_;
    const std::set<PciAddress>& refused_;
    Mdev mdev_;
    std::map<PciAddress, std::set<PciAddress>> supporting_;
    std::set<std::string> all_names_;
    std::optional<Error> unreadable_; ///< of the first parent that could not be read
};

/// An mdev that exists already under our UUID is removed and made again where it was.
Result<bool> keep_parent(Host& host, Slot& slot) {
    Mdev mdev(host.sysfs, host.config);
    VGPU_TRY_ASSIGN(const auto parent, mdev.parent(slot.key.mdev()));
    if (!parent) {
        return false;
    }
    VGPU_TRY_ASSIGN(const PciAddress gpu, gpu_of(host.sysfs, *parent));
    if (!host.config.manages(gpu, *parent)) {
        return fail(
            ErrorCode::denied,
            fmt::format(
                "mdev {} exists on {}, which is not given to virt-vgpu by its configuration; "
                "remove it, or run `virt-vgpu assign` for a fresh one",
                slot.key.device(), parent->to_string()));
    }
    VGPU_TRY_ASSIGN(const auto supported, mdev.supported(*parent));
    if (!offers(supported, slot.wanted->profile) ||
        (slot.wanted->gpu && *slot.wanted->gpu != gpu)) {
        return fail(
            ErrorCode::conflict,
            fmt::format("mdev {} exists on {}, which cannot be {}; remove it, or run `virt-vgpu "
                        "assign` for a fresh one",
                        slot.key.device(), parent->to_string(),
                        printable(slot.wanted->profile, 80)));
    }
    slot.function = *parent;
    slot.gpu = gpu;
    return true;
}

/// Mdevs whose claim is over hold room that anybody may give back.
Result<int> finish_over(Host& host, const std::map<PciAddress, std::set<PciAddress>>& supporting,
                        Deadline deadline) {
    VGPU_TRY_ASSIGN(const auto claims, host.claims.list());
    int freed = 0;
    for (const StoredClaim& stored : claims) {
        if (!stored.claim || !stored.key.is_mdev() || !is_over(host, *stored.claim) ||
            !stored.claim->gpu || !supporting.contains(*stored.claim->gpu)) {
            continue;
        }
        const auto repaired =
            repair(host, FrameworkKind::mdev, stored.key, deadline.within(std::chrono::seconds(2)));
        if (repaired && *repaired) {
            ++freed;
        } else if (!repaired) {
            host.note(NoteLevel::warning, repaired.error().text(), stored.key);
        }
    }
    return freed;
}

} // namespace

Result<void> choose_parent(Host& host, Slot& slot, const std::set<PciAddress>& refused,
                           Deadline deadline) {
    VGPU_TRY_ASSIGN(const bool kept, keep_parent(host, slot));
    if (kept) {
        return {};
    }
    Selection selection(host, slot, refused);
    VGPU_TRY_ASSIGN(bool chosen, selection.choose());
    if (!chosen && !selection.supporting().empty()) {
        VGPU_TRY_ASSIGN(const int freed, finish_over(host, selection.supporting(), deadline));
        if (freed > 0) {
            VGPU_TRY_ASSIGN(chosen, selection.choose());
        }
    }
    if (!chosen) {
        return fail(selection.why());
    }
    return {};
}

} // namespace vgpu
