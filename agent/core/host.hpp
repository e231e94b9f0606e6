#pragma once

#include "agent/core/claim_store.hpp"
#include "agent/core/config.hpp"
#include "agent/core/framework.hpp"
#include "agent/core/liveness.hpp"
#include "agent/core/locks.hpp"
#include "agent/core/proc.hpp"
#include "agent/core/sysfs.hpp"

#include <functional>
#include <optional>
#include <string>
#include <utility>

namespace vgpu {

enum class NoteLevel { info, warning, error };

/// What a note is about, for the fields of a log record.
struct NoteSubject {
    // Implicit: most notes are about a device.
    NoteSubject(const DeviceKey& key) : device(key) {}
    NoteSubject(const Uuid& uuid, std::string name)
        : domain_uuid(uuid), domain_name(std::move(name)) {}

    std::optional<DeviceKey> device;
    std::optional<Uuid> domain_uuid;
    std::string domain_name;
};

/// Something worth a log line that is no error of the operation: a dirty device was cleaned, a
/// claim stays behind. The core returns, programs log: it only hands these out.
using Notes = std::function<void(NoteLevel, const std::string& text, const NoteSubject& subject)>;

/// Everything the operations on claims and devices work with.
struct Host {
    const Config& config;
    Sysfs& sysfs;
    Locks& locks;
    ClaimStore& claims;
    const Proc& proc;
    const Witnesses& witnesses;
    std::string boot_id;
    Notes note;

    /// True if the claim was made in an earlier boot: then no VMM of it is alive. Claims of version
    /// 1 do not say.
    [[nodiscard]] bool of_another_boot(const Claim& claim) const {
        return !claim.boot_id.empty() && claim.boot_id != boot_id;
    }
    [[nodiscard]] std::unique_ptr<Framework> framework(FrameworkKind kind) const {
        return make_framework(kind, sysfs, config);
    }
};

/// A check that is made under the device lock, before anything is changed; an error of it stops the
/// operation. The hook's is "the libvirt that started me is still my parent", the daemon's "the
/// incarnation is unchanged".
using Check = std::function<Result<void>()>;

} // namespace vgpu
