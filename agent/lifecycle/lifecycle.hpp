#pragma once

#include "agent/core/config.hpp"
#include "agent/core/host.hpp"
#include "agent/lifecycle/instance.hpp"
#include "agent/lifecycle/instance_locks.hpp"
#include "xml/forked.hpp"
#include "xml/instance.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <string>

namespace vgpu {

/// Opens a connection for calls; its first deadline is the given one.
using Connect = std::function<Result<std::unique_ptr<DomainControl>>(Deadline)>;

struct StopOptions {
    std::chrono::milliseconds guest_time{15000}; ///< for the guest to shut itself down
    bool force = false;                          ///< do not ask the guest
};

struct ForkRequest {
    std::string name;
    std::optional<Uuid> uuid;
    xml::ForkOptions disks;
    bool start = false;
};

/// The operations on instances: domains that ask for vGPUs. Each can be repeated, also after a
/// crash in the middle of it, and ends where the first one would have. Each holds the instance lock
/// of its domain, blocks until done or its deadline, and may be called from any thread. A domain
/// without a request of ours is refused (denied): it is only shown. Errors: not_found; busy when
/// another operation on the domain is under way; unavailable or timeout when libvirt does not
/// answer; otherwise what stands in the way, with device, holder and what to do.
class Lifecycle {
public:
    /// Everything outlives the object.
    Lifecycle(const Config& config, InstanceLocks& locks, Connect connect, Notes note)
        : config_(config), locks_(locks), connect_(std::move(connect)), note_(std::move(note)) {}

    /// Defines the domain of the request on devices that are free now, and starts it if the request
    /// says so. If that first start fails the definition goes again. The same request again answers
    /// with what is there. `fresh`, if given, says whether the domain was made by this call. Error:
    /// conflict if the name or UUID is another domain's.
    [[nodiscard]] Result<InstanceState> create(const xml::InstanceRequest& request,
                                               Deadline deadline, bool* fresh = nullptr);
    /// Starts the domain; first ends its stale claims and points it at devices that are free. A
    /// running one is left as it is. Error: also when libvirt started it without calling the hook.
    [[nodiscard]] Result<InstanceState> start(const std::string& id, Deadline deadline);
    /// Asks the guest to shut down, then ends the VMM with SIGTERM, then, if it would not end, with
    /// SIGKILL; a device whose VMM is killed in its first 60 s becomes a suspect. Then resets and
    /// frees its devices. One that cannot be freed keeps its claim, with a warning in the answer.
    [[nodiscard]] Result<InstanceState> stop(const std::string& id, const StopOptions& options,
                                             Deadline deadline);
    /// Asks the guest to reboot. Its devices stay as they are. Error: conflict if it does not run.
    [[nodiscard]] Result<InstanceState> reboot(const std::string& id, Deadline deadline);
    /// Stops the domain, frees its devices and removes its definition. While a device cannot be
    /// freed both claim and definition stay. Disks are left alone.
    [[nodiscard]] Result<void> remove(const std::string& id, const StopOptions& options,
                                      Deadline deadline);
    /// A new domain that asks for what `id` asks for, on devices of its own.
    [[nodiscard]] Result<InstanceState> fork(const std::string& id, const ForkRequest& request,
                                             Deadline deadline);

    [[nodiscard]] Result<InstanceState> get(const std::string& id, Deadline deadline);
    /// All domains with a request of ours, by name.
    [[nodiscard]] Result<std::vector<InstanceState>> list(Deadline deadline);

private:
    class Operation;

    const Config& config_;
    InstanceLocks& locks_;
    Connect connect_;
    Notes note_;
};

} // namespace vgpu
