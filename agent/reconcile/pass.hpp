#pragma once

#include "agent/assignment/definition.hpp"
#include "agent/reconcile/reconciler.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

/// What the stages of one pass share. Used inside agent/reconcile only.
namespace vgpu {

/// A domain as libvirt listed it, with what we read in its XML; no view if that cannot be read.
struct KnownDomain {
    DomainInfo info;
    std::optional<xml::DomainView> persistent;
    std::optional<xml::DomainView> live;
};

struct Pass {
    ReconcileInput& input;
    ReconcileReport report;
    Inventory inventory;
    std::optional<std::vector<KnownDomain>> domains; ///< none: libvirt's answer is not to be had

    [[nodiscard]] Host& host() const { return input.change.host(); }
    [[nodiscard]] const KnownDomain* domain(const Uuid& uuid) const;
    [[nodiscard]] bool out_of_time() const { return input.deadline.passed(); }
    /// Notes what was done, or what stood in the way.
    void add(Stage stage, std::string text, const std::optional<DeviceKey>& device,
             const std::string& domain_name, const std::optional<Uuid>& domain_uuid,
             std::optional<Error> error = std::nullopt);
};

/// The time that one device may take of a pass, so that one which is stuck leaves some to the
/// others.
inline constexpr std::chrono::seconds share_of_a_device(5);

void release_stage(Pass& pass);
void adopt_stage(Pass& pass);
void repair_stage(Pass& pass);
void rebind_stage(Pass& pass);

} // namespace vgpu
