#pragma once

#include "agent/hypervisor/domain_control.hpp"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace vgpu::test {

/// A libvirt in memory, with accidents. For one thread.
class FakeHypervisor final : public DomainControl {
public:
    /// Defines a domain with a request for `profile` on each of `devices` (names vgpu0, vgpu1,
    /// ...); without a request when the profile is empty.
    void add(const std::string& name, const std::string& uuid, const std::string& profile,
             const std::vector<std::string>& devices);
    /// The domain runs with what it is defined as, or has stopped.
    void set_active(const std::string& name, bool active);
    void remove(const std::string& name);

    /// The device of the request vgpu0 in the definition: address or UUID, "none".
    [[nodiscard]] std::string device_of(const std::string& name) const;

    Result<HypervisorFacts> facts() override { return known; }
    Result<std::vector<DomainInfo>> domains() override;
    Result<DomainInfo> domain(const std::string& name_or_uuid) override;
    Result<void> define(const std::string& xml) override;
    void set_deadline(Deadline) override {}
    bool usable() override { return !broken; }
    Result<bool> active(const std::string& domain) override;
    Result<void> start(const std::string& domain) override;
    Result<void> shutdown(const std::string& domain) override;
    Result<void> reboot(const std::string& domain) override;
    Result<void> destroy(const std::string& domain, Termination how) override;
    Result<void> undefine(const std::string& domain) override;

    std::optional<Error> broken; ///< what every call answers
    /// What one call on one domain answers: "active", "start", "shutdown", "destroy", "force",
    /// "undefine".
    std::map<std::string, Error> refused;
    /// Runs in the middle of a start, as libvirt's hook does; an error refuses the start.
    std::function<Result<void>(const DomainInfo&)> on_start;
    std::function<void(const DomainInfo&)> on_stop;
    std::function<void()> on_list; ///< runs when the domains have been listed
    bool guest_obeys = true;       ///< a guest that is asked to shut down does
    HypervisorFacts known{"QEMU", 11003000, 10000013};
    std::vector<std::string> calls; ///< the changing ones: "define vm1", "start vm1", ...

private:
    [[nodiscard]] Result<DomainInfo*> find(const std::string& name_or_uuid);
    [[nodiscard]] Result<void> refusal(const std::string& call);
    Result<void> end(const std::string& domain, const std::string& call);

    std::map<Uuid, DomainInfo> domains_;
};

} // namespace vgpu::test
