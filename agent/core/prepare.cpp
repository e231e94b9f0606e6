#include "agent/core/prepare.hpp"

#include "agent/core/device_release.hpp"
#include "agent/core/preparation.hpp"

#include <fmt/format.h>

#include <limits.h>

#include <algorithm>
#include <utility>

namespace vgpu {

namespace {

using std::chrono::seconds;

/// One attempt at prepare_domain(), from its locks to its end.
class Preparation {
public:
    Preparation(Host& host, const PrepareRequest& request, const Check& check, Deadline deadline,
                const std::set<PciAddress>& refused)
        : host_(host), request_(request), check_(check), deadline_(deadline), refused_(refused) {}

    Result<std::vector<Claim>> run() {
        make_slots();
        host_.sysfs.set_deadline(deadline_);
        VGPU_TRY_ASSIGN(locks_, host_.locks.all(keys(), deadline_)); // P1
        VGPU_TRY(check_());                                          // P2
        if (!wants_mdev()) {
            // Every device is known and locked: nothing is selected, and what follows may be slow.
            locks_->allocation.reset();
        }
        if (!request_.wanted.empty()) {
            host_.sysfs.get_ready();
        }
        VGPU_TRY(admit_all()); // P3
        auto done = claim_all();
        if (done) {
            done = configure_all();
        }
        if (!done) {
            undo();
            return fail(done.error());
        }
        std::vector<Claim> claims;
        for (Slot& slot : slots_) {
            claims.push_back(std::move(slot.claim));
        }
        return claims;
    }

    /// The mdev parents that refused the creation: another attempt leaves them out.
    [[nodiscard]] const std::vector<PciAddress>& refusing_parents() const { return refusing_; }

private:
    void make_slots() {
        for (const WantedDevice& wanted : request_.wanted) {
            slots_.emplace_back(&wanted, wanted.device);
        }
        const std::set<DeviceKey> foreign(request_.foreign.begin(), request_.foreign.end());
        for (const DeviceKey& key : foreign) {
            slots_.emplace_back(nullptr, key);
        }
    }

    [[nodiscard]] std::vector<DeviceKey> keys() const {
        std::vector<DeviceKey> keys;
        for (const Slot& slot : slots_) {
            keys.push_back(slot.key);
        }
        std::sort(keys.begin(), keys.end());
        return keys;
    }

    [[nodiscard]] bool wants_mdev() const {
        return std::any_of(slots_.begin(), slots_.end(), [](const Slot& slot) {
            return slot.wanted != nullptr && slot.key.is_mdev();
        });
    }

    [[nodiscard]] DeviceLock& lock_of(const Slot& slot) { return locks_->of(slot.key); }

    Result<void> admit_all() {
        for (Slot& slot : slots_) {
            const auto admitted = admit(host_, request_, lock_of(slot), slot, deadline_);
            if (!admitted) {
                return fail(slot.failed(admitted.error()));
            }
        }
        return {};
    }

    Claim new_claim(const Slot& slot) const {
        Claim claim;
        claim.framework = slot.framework->kind();
        claim.device_path = host_.sysfs.absolute(slot.framework->path(slot.key));
        if (slot.key.is_mdev()) {
            claim.mdev_uuid = slot.key.mdev();
            claim.parent = slot.function;
        }
        claim.gpu = slot.gpu;
        claim.domain_uuid = request_.domain;
        claim.domain_name = request_.name;
        claim.managed = slot.wanted != nullptr;
        claim.profile = slot.wanted != nullptr ? slot.wanted->profile : "";
        claim.device = slot.wanted != nullptr ? slot.wanted->name : "";
        claim.state = slot.wanted != nullptr ? ClaimState::configuring : ClaimState::configured;
        claim.incarnation = incarnation_;
        claim.boot_id = host_.boot_id;
        claim.claimed_at = utc_now();
        return claim;
    }

    Result<void> claim_all() { // P4
        for (Slot& slot : slots_) {
            if (slot.wanted != nullptr && slot.key.is_mdev()) {
                const auto chosen = choose_parent(host_, slot, refused_, deadline_);
                if (!chosen) {
                    return fail(slot.failed(chosen.error()));
                }
            }
            slot.claim = new_claim(slot);
            const DeviceLock& lock = lock_of(slot);
            const auto claimed = slot.own ? host_.claims.take_over(lock, slot.claim)
                                          : host_.claims.link(lock, slot.claim);
            if (!claimed) {
                return fail(slot.failed(claimed.error()));
            }
            slot.claimed = true;
        }
        locks_->allocation.reset();
        end_other_claims();
        return {};
    }

    /// Claims of this domain on devices that its XML no longer names are over: this start is
    /// another incarnation.
    void end_other_claims() {
        const auto keys = host_.claims.devices_of(request_.domain);
        if (!keys) {
            return;
        }
        for (const DeviceKey& key : *keys) {
            const bool named = std::any_of(slots_.begin(), slots_.end(),
                                           [&key](const Slot& slot) { return slot.key == key; });
            if (!named) {
                end_other_claim(key);
            }
        }
    }

    void end_other_claim(const DeviceKey& key) {
        auto lock = host_.locks.try_device(key);
        if (!lock || !*lock) {
            return; // whoever has it is at work on it
        }
        const auto claim = host_.claims.read(key);
        if (!claim || !*claim || (*claim)->domain_uuid != request_.domain) {
            return;
        }
        const auto finished = finish_claim(host_, **lock, **claim, deadline_.within(seconds(2)));
        if (!finished) {
            host_.note(NoteLevel::warning, finished.error().text(), key);
        }
    }

    Result<void> configure_all() { // P5
        for (Slot& slot : slots_) {
            if (slot.wanted == nullptr) {
                continue;
            }
            const auto type = configure(host_, lock_of(slot), slot, deadline_);
            if (!type) {
                if (slot.key.is_mdev() && slot.parent_refused) {
                    refusing_.push_back(*slot.function);
                }
                return fail(slot.failed(type.error()));
            }
            slot.claim.profile = type->name;
            slot.claim.type_id = type->id;
            slot.claim.state = ClaimState::configured;
            VGPU_TRY(must_still_be_ours(slot));
            const auto written = host_.claims.replace(lock_of(slot), slot.claim);
            if (!written) {
                return fail(slot.failed(written.error()));
            }
        }
        for (const Slot& slot :
             slots_) { // the driver may have taken its time with the others since
            VGPU_TRY(slots_.size() > 1 ? must_still_be_ours(slot) : Result<void>());
        }
        return {};
    }

    /// Read again by path, as before every change of a claim file: locks and claims are files, and
    /// somebody may have removed them under us.
    Result<void> must_still_be_ours(const Slot& slot) {
        const auto now = host_.claims.read(slot.key);
        if (!now) {
            return fail(now.error());
        }
        if (*now && (*now)->domain_uuid == request_.domain && (*now)->incarnation == incarnation_) {
            return {};
        }
        return fail(ErrorCode::conflict,
                    fmt::format("the claim of {} was {} while this start was under way; the device "
                                "is left as it is",
                                slot.what(),
                                *now ? "taken over by domain " + (*now)->owner() : "removed"));
    }

    void undo() {
        // Beyond the deadline of the work: a driver that did not come back has used all of that.
        host_.sysfs.set_deadline(Deadline::in(std::chrono::hours(1)));
        for (Slot& slot : slots_) {
            if (!slot.claimed) {
                continue;
            }
            const auto undone = undo(slot);
            if (!undone) {
                host_.note(
                    NoteLevel::error,
                    fmt::format("{} could not be taken back and stays claimed as draining: {}",
                                slot.what(), undone.error().text()),
                    slot.key);
            }
        }
    }

    Result<void> undo(Slot& slot) {
        DeviceLock& lock = lock_of(slot);
        VGPU_TRY(must_still_be_ours(slot));
        auto freed = slot.wanted != nullptr ? take_back(slot, lock) : Result<void>();
        if (freed) {
            freed = host_.claims.remove(lock, request_.domain);
        }
        if (freed) {
            return {};
        }
        if (freed.error().code() == ErrorCode::timeout) {
            lock.leave_to_children();
        }
        slot.claim.state = ClaimState::draining;
        VGPU_TRY(host_.claims.replace(lock, slot.claim));
        return freed;
    }

    Result<void> take_back(Slot& slot, DeviceLock& lock) {
        // Nobody of ours can have opened it; somebody without any claim could.
        VGPU_TRY(prove_free(host_, *slot.framework, slot.key, std::nullopt));
        return slot.framework->reset(lock, Deadline::in(seconds(1)), std::chrono::milliseconds(0));
    }

    Host& host_;
    const PrepareRequest& request_;
    const Check& check_;
    Deadline deadline_;
    const std::set<PciAddress>& refused_;
    Uuid incarnation_ = Uuid::random();
    std::vector<Slot> slots_;
    std::optional<LockSet> locks_;
    std::vector<PciAddress> refusing_;
};

/// What is written into claims and looked up in catalogues is bounded: a claim must be short enough
/// to be read again.
Result<void> must_be_bounded(const PrepareRequest& request) {
    constexpr std::size_t longest_name = NAME_MAX - 4; // libvirt's <name>.pid and <name>.xml
    if (request.name.size() > longest_name) {
        return fail(ErrorCode::invalid,
                    fmt::format("the domain's name is longer than {} bytes", longest_name));
    }
    constexpr std::size_t most = 256; // more than any machine has slots for
    if (request.wanted.size() + request.foreign.size() > most) {
        return fail(ErrorCode::invalid, fmt::format("the domain has more than {} vGPUs", most));
    }
    constexpr std::size_t longest = 1024;
    for (const WantedDevice& wanted : request.wanted) {
        if (wanted.profile.size() > longest || wanted.params.size() > longest) {
            return fail(ErrorCode::invalid,
                        fmt::format("{}: profile or params of the request are longer than {} bytes",
                                    wanted.device.device(), longest));
        }
    }
    return {};
}

Result<void> each_device_once(const PrepareRequest& request) {
    std::set<DeviceKey> seen;
    for (const WantedDevice& wanted : request.wanted) {
        if (!seen.insert(wanted.device).second) {
            return fail(ErrorCode::invalid,
                        fmt::format("{} is named twice in the domain's XML; run `virt-vgpu assign` "
                                    "to give each request a device of its own",
                                    wanted.device.device()));
        }
    }
    for (const DeviceKey& foreign : request.foreign) {
        if (seen.contains(foreign)) {
            return fail(ErrorCode::invalid, fmt::format("{} is in the domain's XML twice, once for "
                                                        "a request of it; remove the other hostdev "
                                                        "(virsh edit)",
                                                        foreign.device()));
        }
    }
    return {};
}

} // namespace

Result<std::vector<Claim>> prepare_domain(Host& host, const PrepareRequest& request,
                                          const Check& check, Deadline deadline) {
    VGPU_TRY(must_be_bounded(request));
    VGPU_TRY(each_device_once(request));
    constexpr std::size_t most_attempts = 8;
    std::set<PciAddress> refused;
    for (std::size_t attempt = 1;; ++attempt) {
        Preparation preparation(host, request, check, deadline, refused);
        auto claims = preparation.run();
        if (claims || preparation.refusing_parents().empty() || attempt == most_attempts ||
            claims.error().code() == ErrorCode::timeout || deadline.passed()) {
            return claims;
        }
        // An mdev's parent was our choice: another one may do.
        for (const PciAddress& parent : preparation.refusing_parents()) {
            host.note(NoteLevel::warning, claims.error().text(), DeviceKey(parent));
            refused.insert(parent);
        }
    }
}

} // namespace vgpu
