#pragma once

#include "agent/hypervisor/domain_control.hpp"

#include <libvirt/libvirt.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

/// libvirt's C functions with results of ours. Each blocks as long as the daemon does. Used inside
/// agent/hypervisor only.
namespace vgpu::libvirt {

template <auto Free>
struct FreeWith {
    template <typename T>
    void operator()(T* object) const noexcept {
        static_cast<void>(Free(object));
    }
};
using ConnectionPtr = std::unique_ptr<virConnect, FreeWith<virConnectClose>>;
using DomainPtr = std::unique_ptr<virDomain, FreeWith<virDomainFree>>;
using TextPtr = std::unique_ptr<char, FreeWith<std::free>>;

/// Error: unavailable or denied, with libvirt's words.
[[nodiscard]] Result<ConnectionPtr> open(const std::string& uri);
[[nodiscard]] bool alive(virConnectPtr connection);

[[nodiscard]] Result<HypervisorFacts> facts(virConnectPtr connection);
[[nodiscard]] Result<std::vector<DomainInfo>> domains(virConnectPtr connection);
[[nodiscard]] Result<DomainInfo> domain(virConnectPtr connection, const std::string& name_or_uuid);
[[nodiscard]] Result<void> define(virConnectPtr connection, const std::string& xml);

[[nodiscard]] Result<bool> active(virConnectPtr connection, const std::string& domain);
[[nodiscard]] Result<void> start(virConnectPtr connection, const std::string& domain);
[[nodiscard]] Result<void> shutdown(virConnectPtr connection, const std::string& domain);
[[nodiscard]] Result<void> reboot(virConnectPtr connection, const std::string& domain);
[[nodiscard]] Result<void> destroy(virConnectPtr connection, const std::string& domain,
                                   Termination how);
[[nodiscard]] Result<void> undefine(virConnectPtr connection, const std::string& domain);

} // namespace vgpu::libvirt
