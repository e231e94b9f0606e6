#pragma once

#include "agent/assignment/definition.hpp"
#include "agent/core/host_session.hpp"
#include "agent/core/reservation.hpp"
#include "agent/lifecycle/lifecycle.hpp"

#include <memory>
#include <string>
#include <vector>

namespace vgpu {

/// What one lifecycle operation works with: a connection, a session on the host, its deadline. Used
/// inside agent/lifecycle only.
class Lifecycle::Operation {
public:
    [[nodiscard]] static Result<std::unique_ptr<Operation>> open(Lifecycle& lifecycle,
                                                                 Deadline deadline);

    /// The domain `id` and its instance lock, which is held as long as this object. Error: denied
    /// if it has no request of ours.
    [[nodiscard]] Result<DomainInfo> take(const std::string& id);
    [[nodiscard]] Result<void> lock(const std::string& name);

    /// All claims of a domain, whatever its XML names.
    [[nodiscard]] Result<std::vector<StoredClaim>> claims_of(const Uuid& domain);
    [[nodiscard]] Result<InstanceState> state_of(const std::string& id);
    [[nodiscard]] Result<Inventory> look();

    /// Devices for the requests of a domain that is not defined yet, under the lock of assignments
    /// until assigned().
    [[nodiscard]] Result<std::vector<PlannedDevice>> plan(const xml::DomainView& view,
                                                          const xml::InstanceRequest& wish);

    /// The planned devices are in a definition: gives back the lock of assignments.
    void assigned() { assignments_.reset(); }

    /// The domain is inactive; its instance lock is held.
    [[nodiscard]] Result<void> start(const DomainInfo& info);
    /// The domain may be active; its instance lock is held.
    [[nodiscard]] Result<void> end_vmm(const DomainInfo& info, const StopOptions& options);
    /// Ends all claims of an inactive domain. What cannot be ended is in the result, by device.
    [[nodiscard]] Result<std::vector<Error>> end_claims(const Uuid& domain);

    [[nodiscard]] DomainControl& hypervisor() { return *hypervisor_; }
    [[nodiscard]] Host& host() { return session_->host(); }
    [[nodiscard]] const Config& config() const { return lifecycle_.config_; }
    [[nodiscard]] Deadline deadline() const { return deadline_; }

    std::vector<std::string> warnings;

private:
    Operation(Lifecycle& lifecycle, Deadline deadline)
        : lifecycle_(lifecycle), deadline_(deadline) {}

    [[nodiscard]] Result<void> point_at_free_devices(const DomainInfo& info);
    [[nodiscard]] Result<PrepareRequest> reservation_request(const Definition& definition) const;
    [[nodiscard]] Result<bool> wait_inactive(const std::string& uuid, Deadline until);
    void mark_young_devices(const DomainInfo& info);
    [[nodiscard]] Result<void> hook_has_run(const Definition& definition, int still_reserved);

    Lifecycle& lifecycle_;
    Deadline deadline_;
    std::unique_ptr<DomainControl> hypervisor_;
    std::unique_ptr<HostSession> session_;
    std::vector<InstanceLocks::Held> held_;
    std::optional<FileLock> assignments_;
};

/// "domain vm1 (f0f0…)".
[[nodiscard]] std::string named(const DomainInfo& info);

} // namespace vgpu
