#include "agent/cli/release.hpp"

#include "agent/core/device_release.hpp"
#include "agent/core/mdev.hpp"
#include "agent/core/topology.hpp"

#include <fmt/format.h>

#include <chrono>
#include <string_view>
#include <utility>

namespace vgpu::cli {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::string named(const DeviceKey& key, const Claim& claim) {
    return fmt::format("{} is claimed by domain {} ({} since {})", key.device(), claim.owner(),
                       to_string(claim.state), claim.claimed_at);
}

/// The function a device is on, if it is there: the VF itself, or the parent of an mdev.
Result<std::optional<PciAddress>> function_of(Host& host, const DeviceKey& key) {
    if (key.is_mdev()) {
        return Mdev(host.sysfs, host.config).parent(key.mdev());
    }
    VGPU_TRY_ASSIGN(const bool present, host.sysfs.exists(pci_path(key.pci())));
    return present ? std::optional(key.pci()) : std::optional<PciAddress>();
}

Result<bool> is_managed(Host& host, const PciAddress& function) {
    VGPU_TRY_ASSIGN(const PciAddress gpu, gpu_of(host.sysfs, function));
    return host.config.manages(gpu, function);
}

Error foreign(const DeviceKey& key, std::string_view why) {
    return Error(ErrorCode::denied, fmt::format("{} is not touched: {}", key.device(), why));
}

/// A claim that is not known to be over: the witnesses have to say so, and the person, where there
/// is no record of a VMM that they could be asked about.
Result<void> may_end(Host& host, const DeviceKey& key, const Claim& claim, bool force) {
    const std::string domain = printable(claim.domain_name);
    const Verdict vmm = host.witnesses.vmm(claim.domain_uuid, {claim.domain_name}, claim.vmm);
    if (!vmm.dead()) {
        return fail(
            ErrorCode::busy,
            fmt::format("{} and may be in use: {}; stop the domain first (virsh shutdown {})",
                        named(key, claim), vmm.why, domain));
    }
    if (!claim.vmm && !force) {
        return fail(
            ErrorCode::denied,
            fmt::format("{}, and nothing proves that this run of it is over: the domain may be "
                        "starting; if `virsh domstate {}` says that it is shut off, repeat "
                        "with --force",
                        named(key, claim), domain));
    }
    const auto framework = host.framework(claim.framework);
    const auto free = prove_free(host, *framework, key, std::nullopt);
    if (!free) {
        return fail(free.error().in(named(key, claim)));
    }
    return {};
}

Result<ReleaseReport> release_claimed(Host& host, DeviceLock& lock, const Claim& claim, bool force,
                                      Deadline deadline) {
    const DeviceKey key = lock.key();
    if (!is_over(host, claim)) {
        VGPU_TRY(may_end(host, key, claim, force));
    }
    VGPU_TRY_ASSIGN(const auto function, function_of(host, key));
    VGPU_TRY(finish_claim(host, lock, claim, deadline));
    const bool untouched = claim.state == ClaimState::claimed || !claim.managed || !function;
    return ReleaseReport{untouched ? ReleaseEffect::forgotten : ReleaseEffect::reset, claim};
}

/// Resets the device of a claim that nobody can read, as far as it is there and ours.
Result<ReleaseEffect> reset_unreadable(Host& host, DeviceLock& lock, Deadline deadline) {
    const DeviceKey key = lock.key();
    VGPU_TRY_ASSIGN(const auto function, function_of(host, key));
    if (!function) {
        return ReleaseEffect::forgotten;
    }
    std::optional<FrameworkKind> kind = FrameworkKind::mdev;
    if (!key.is_mdev()) {
        VGPU_TRY_ASSIGN(kind, framework_of(host.sysfs, key.pci()));
    }
    if (!kind || (!key.is_mdev() && *kind == FrameworkKind::mdev)) {
        return ReleaseEffect::forgotten; // no device that a claim of this name could be on
    }
    const auto framework = host.framework(*kind);
    const auto free = prove_free(host, *framework, key, std::nullopt);
    if (!free) {
        return fail(free.error().in(fmt::format("{} stays claimed", key.device())));
    }
    VGPU_TRY_ASSIGN(const bool managed, is_managed(host, *function));
    if (!managed) {
        return ReleaseEffect::forgotten;
    }
    const auto reset = framework->reset(lock, deadline, milliseconds(0));
    if (!reset) {
        if (reset.error().code() == ErrorCode::timeout) {
            lock.leave_to_children(); // a write may still be under way in the driver
        }
        return fail(reset.error().in(fmt::format("{} stays claimed", key.device())));
    }
    return ReleaseEffect::reset;
}

Result<ReleaseReport> release_unreadable(Host& host, DeviceLock& lock, const Error& why, bool force,
                                         Deadline deadline) {
    if (why.code() != ErrorCode::corrupt) {
        return fail(why);
    }
    if (!force) {
        return fail(why.hint("`virt-vgpu release --force` resets the device, if nobody holds it, "
                             "and removes the file"));
    }
    VGPU_TRY_ASSIGN(const ReleaseEffect effect, reset_unreadable(host, lock, deadline));
    // Whose entry of the index goes with it is not known; an entry without a claim means nothing.
    VGPU_TRY(host.claims.remove(lock, Uuid{}));
    return ReleaseReport{effect, std::nullopt};
}

Result<ReleaseReport> release_unclaimed_mdev(const DeviceKey& key) {
    return fail(foreign(
        key,
        fmt::format("it has no claim, so another tool made it; whoever did can remove it (echo "
                    "1 > /sys/bus/mdev/devices/{}/remove)",
                    key.device())));
}

Result<ReleaseReport> release_unclaimed_vf(Host& host, const DeviceKey& key, Deadline deadline) {
    VGPU_TRY_ASSIGN(const auto kind, framework_of(host.sysfs, key.pci()));
    if (kind == FrameworkKind::mdev) {
        return fail(ErrorCode::invalid,
                    fmt::format("{} makes mdevs: name the UUID of one, see `virt-vgpu devices`",
                                key.device()));
    }
    if (!kind) {
        return fail(ErrorCode::unsupported,
                    fmt::format("{} offers no vGPU, and has no claim", key.device()));
    }
    VGPU_TRY_ASSIGN(const std::uint32_t type, host.framework(*kind)->type(key));
    if (type == 0) {
        return ReleaseReport{};
    }
    VGPU_TRY_ASSIGN(const bool managed, is_managed(host, key.pci()));
    if (!managed) {
        return fail(foreign(key, "the configuration does not give it to virt-vgpu ([gpus] managed, "
                                 "ignored)"));
    }
    const auto repaired = repair(host, *kind, key, deadline);
    if (!repaired) {
        return fail(repaired.error().in(fmt::format("{} carries type {}", key.device(), type)));
    }
    if (!*repaired) {
        return fail(ErrorCode::conflict,
                    fmt::format("{} is being claimed by somebody else just now", key.device()));
    }
    return ReleaseReport{ReleaseEffect::reset, std::nullopt};
}

} // namespace

std::string_view to_string(ReleaseEffect effect) {
    switch (effect) {
    case ReleaseEffect::reset:
        return "reset";
    case ReleaseEffect::forgotten:
        return "forgotten";
    case ReleaseEffect::nothing:
        break;
    }
    return "nothing";
}

Result<ReleaseReport> release_device(Host& host, const DeviceKey& key, bool force,
                                     Deadline deadline) {
    VGPU_TRY_ASSIGN(const auto function, function_of(host, key));
    const auto first_look = host.claims.read(key);
    if (!function && first_look && !*first_look) {
        return fail(ErrorCode::not_found,
                    fmt::format("there is no device {}, and no claim on one", key.device()));
    }
    {
        VGPU_TRY_ASSIGN(DeviceLock lock, host.locks.device(key, deadline.within(seconds(5))));
        const auto claim = host.claims.read(key);
        if (!claim) {
            return release_unreadable(host, lock, claim.error(), force, deadline);
        }
        if (*claim) {
            return release_claimed(host, lock, **claim, force, deadline);
        }
    } // repair() takes the lock itself, and looks again under it
    return key.is_mdev() ? release_unclaimed_mdev(key) : release_unclaimed_vf(host, key, deadline);
}

} // namespace vgpu::cli
