#include "agent/core/device_release.hpp"
#include "agent/core/preparation.hpp"
#include "agent/core/topology.hpp"

#include <fmt/format.h>

#include <utility>

namespace vgpu {

namespace {

Error held_by(const DeviceKey& key, const Claim& claim) {
    return Error(
               ErrorCode::busy,
               fmt::format(
                   "{} is claimed by domain {} ({} since {}, {}); stop that domain, or run "
                   "`virt-vgpu assign` to give this one another device; if that domain is shut off "
                   "and its claim stays, run `virt-vgpu release {}`",
                   key.device(), claim.owner(), to_string(claim.state), claim.claimed_at,
                   claim.profile, key.device()))
        .on(key.device())
        .held_by(claim.domain_uuid.to_string());
}

Result<void> locate_vf(Host& host, Slot& slot) {
    const PciAddress& vf = slot.key.pci();
    VGPU_TRY_ASSIGN(const auto kind, framework_of(host.sysfs, vf));
    if (kind == FrameworkKind::mdev) {
        return fail(
            ErrorCode::unsupported,
            fmt::format("{} makes vGPUs by mdev, the domain's XML has it as a PCI device; run "
                        "`virt-vgpu assign` to point the domain at an mdev",
                        vf.to_string()));
    }
    if (!kind) {
        VGPU_TRY_ASSIGN(const std::string driver, driver_of(host.sysfs, vf));
        return fail(
            ErrorCode::unavailable,
            fmt::format("{} offers no vGPU (bound driver: {}); it must be a VF bound to the "
                        "nvidia driver: see `virt-vgpu doctor`",
                        vf.to_string(), driver.empty() ? "none" : driver));
    }
    slot.framework = host.framework(*kind);
    slot.function = vf;
    VGPU_TRY_ASSIGN(slot.gpu, gpu_of(host.sysfs, vf));
    return {};
}

Result<void> locate_mdev(Host& host, Slot& slot) {
    slot.framework = host.framework(FrameworkKind::mdev);
    VGPU_TRY_ASSIGN(const bool any, host.sysfs.exists("class/mdev_bus"));
    if (!any) {
        return fail(ErrorCode::unavailable,
                    "no device of this host makes mdevs (there is no /sys/class/mdev_bus); run "
                    "`virt-vgpu doctor`, and `virt-vgpu assign` to point the domain at a VF");
    }
    return {};
}

/// I6: only what the configuration gives to us is ever written to.
Result<void> must_be_managed(const Host& host, const Slot& slot) {
    if (slot.key.is_mdev() || host.config.manages(*slot.gpu, slot.key.pci())) {
        return {};
    }
    return fail(
        ErrorCode::denied,
        fmt::format("{} is not given to virt-vgpu by its configuration ([gpus] managed, ignored)",
                    slot.key.device()));
}

Result<void> must_be_on_wanted_gpu(const Slot& slot) {
    const auto& wanted = slot.wanted->gpu;
    if (!wanted || slot.key.is_mdev() || *wanted == *slot.gpu) {
        return {};
    }
    return fail(
        ErrorCode::conflict,
        fmt::format("{} is a VF of GPU {}, the request names GPU {}; run `virt-vgpu assign` again",
                    slot.key.device(), slot.gpu->to_string(), wanted->to_string()));
}

/// Somebody has the device open, or may have. Without a group node only a scan of /proc can tell;
/// where nothing was ever set up, the exclusive open is enough and does not grow with the host.
Result<void> must_not_be_open(Host& host, Slot& slot) {
    if (slot.leftover != 0 && !slot.own) {
        return prove_free(host, *slot.framework, slot.key, std::nullopt);
    }
    VGPU_TRY_ASSIGN(const DeviceNodes group, slot.framework->group_node(slot.key));
    VGPU_TRY_ASSIGN(const Probe probe, Witnesses::exclusive_open(group));
    if (probe == Probe::no_node) {
        return prove_free(host, *slot.framework, slot.key, std::nullopt);
    }
    if (probe == Probe::in_use) {
        VGPU_TRY_ASSIGN(const DeviceNodes nodes, slot.framework->nodes(slot.key));
        const Verdict held = host.witnesses.device_held(nodes);
        return fail(ErrorCode::busy,
                    fmt::format("{} is in use without a claim: {}", slot.key.device(),
                                held.dead() ? nodes.group + " is held open" : held.why));
    }
    return {};
}

Result<void> take_over_own(Host& host, const PrepareRequest& request, Slot& slot, Claim claim) {
    std::optional<FormerUser> user;
    if (!host.of_another_boot(claim)) {
        user = FormerUser{request.domain, {request.name, claim.domain_name}, claim.vmm};
    }
    const auto freed = prove_free(host, *slot.framework, slot.key, user);
    if (!freed) {
        return fail(freed.error().in(
            fmt::format("{} is still claimed by this domain's last run", slot.key.device())));
    }
    slot.own = std::move(claim);
    return {};
}

/// The claim on the device, unless it is another domain's that lasts: that is a refusal, whatever
/// else is wrong with the device. One that cannot be read counts as such.
Result<std::optional<Claim>> claim_to_deal_with(Host& host, const PrepareRequest& request,
                                                const DeviceKey& key) {
    auto claim = host.claims.read(key);
    if (!claim) {
        return fail(claim.error());
    }
    if (*claim && (*claim)->domain_uuid != request.domain && !is_over(host, **claim)) {
        return fail(held_by(key, **claim));
    }
    return std::move(*claim);
}

Result<void> deal_with(Host& host, const PrepareRequest& request, DeviceLock& lock, Slot& slot,
                       const Claim& claim, Deadline deadline) {
    // What was configured for this domain and is now only a device of its XML is wiped first, then
    // protected.
    const bool still_wanted = slot.wanted != nullptr || !claim.managed;
    if (claim.domain_uuid == request.domain && still_wanted) {
        return take_over_own(host, request, slot, claim);
    }
    VGPU_TRY(finish_claim(host, lock, claim, deadline));
    host.note(
        NoteLevel::info,
        fmt::format("finished the release of {} by domain {}", slot.key.device(), claim.owner()),
        slot.key);
    return {};
}

} // namespace

std::string Slot::what() const {
    return wanted == nullptr ? key.device()
                             : fmt::format("{} ({} on {})", wanted->name,
                                           printable(wanted->profile, 80), key.device());
}

Result<void> admit(Host& host, const PrepareRequest& request, DeviceLock& lock, Slot& slot,
                   Deadline deadline) {
    VGPU_TRY_ASSIGN(const auto claim, claim_to_deal_with(host, request, slot.key));
    VGPU_TRY(slot.key.is_mdev() ? locate_mdev(host, slot) : locate_vf(host, slot));
    if (slot.wanted != nullptr) {
        VGPU_TRY(must_be_managed(host, slot));
        VGPU_TRY(must_be_on_wanted_gpu(slot));
    }
    if (claim) {
        VGPU_TRY(deal_with(host, request, lock, slot, *claim, deadline));
    }
    if (slot.wanted == nullptr) {
        return {};
    }
    auto type = slot.framework->type(slot.key);
    if (!type) {
        if (type.error().code() == ErrorCode::timeout) {
            lock.leave_to_children();
        }
        return fail(type.error());
    }
    slot.leftover = *type;
    return must_not_be_open(host, slot);
}

} // namespace vgpu
