#pragma once

#include "agent/core/claim.hpp"
#include "agent/core/config.hpp"
#include "agent/core/locks.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace vgpu {

/// One entry of the claims directory: a claim, or why its file cannot be read (then its device
/// counts as claimed by somebody unknown; nothing else is affected).
struct StoredClaim {
    DeviceKey key;
    Result<Claim> claim;
};

/// The claims directory: one file per claimed device, so that the file system itself refuses a
/// second claim. Files are changed only under the lock of their device, which every changing call
/// asks for. All changes are durable when the call returns, except removal: an unlink lost at power
/// failure leaves a claim of an earlier boot, which is known to be over.
///
/// Beside it, in the runtime directory, an index `domains/<uuid>/<key>` says which devices a domain
/// may have claims on, so that a release reads its own claims only. An entry is made before its
/// claim and removed after it; it proves nothing.
class ClaimStore {
public:
    explicit ClaimStore(const Config::Paths& paths);

    /// The claim of a device; nullopt if there is none. Error: corrupt (unreadable: counts as
    /// claimed), or io.
    [[nodiscard]] Result<std::optional<Claim>> read(const DeviceKey& key) const;
    /// All claims, sorted by key. A file whose name is no device key is ignored. Error: the
    /// directory cannot be read (a missing one is empty).
    [[nodiscard]] Result<std::vector<StoredClaim>> list() const;
    /// Devices that `domain` may have claims on, by the index. Never reads another domain's claims.
    [[nodiscard]] Result<std::vector<DeviceKey>> devices_of(const Uuid& domain) const;

    /// Makes a claim on a device that has none, by link(2). Error: conflict if it has one.
    [[nodiscard]] Result<void> link(const DeviceLock& lock, const Claim& claim);
    /// Puts a claim of another incarnation over the one that a device has, as replace() does.
    [[nodiscard]] Result<void> take_over(const DeviceLock& lock, const Claim& claim);
    /// Replaces the claim of a device by rename(2); the caller has just read it under the same
    /// lock, and its domain stays the same.
    [[nodiscard]] Result<void> replace(const DeviceLock& lock, const Claim& claim);
    /// Removes the claim of a device. `domain` is its owner, for the index. Succeeds if there is
    /// none.
    [[nodiscard]] Result<void> remove(const DeviceLock& lock, const Uuid& domain);

    /// How long ago the claim file was last written; 0 if that lies in the future.
    [[nodiscard]] Result<std::chrono::milliseconds> age(const DeviceKey& key) const;

    /// The file of a device's claim, for messages.
    [[nodiscard]] std::string path(const DeviceKey& key) const;

private:
    [[nodiscard]] std::string index(const Uuid& domain) const;
    [[nodiscard]] Result<std::string> write_temporary(const DeviceLock& lock, const Claim& claim);
    [[nodiscard]] Result<void> link_file(const DeviceLock& lock, const Claim& claim);
    void remove_from_index(const Uuid& domain, const DeviceKey& key);
    [[nodiscard]] Result<void> add_to_index(const Uuid& domain, const DeviceKey& key);

    Config::Paths paths_;
};

} // namespace vgpu
