#pragma once

#include "agent/core/host.hpp"
#include "agent/core/inventory.hpp"
#include "agent/hypervisor/hypervisor.hpp"
#include "xml/domain.hpp"

#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vgpu::cli {

/// How one check went. `skipped`: it could not be made.
enum class Level { ok, skipped, warning, failure };

/// "ok", "skipped", "warning", "failure".
[[nodiscard]] std::string_view to_string(Level level);

struct Finding {
    Level level = Level::ok;
    std::string check;  ///< which check: "iommu", "hook", ...
    std::string text;   ///< what was seen
    std::string advice; ///< what to do; empty if nothing
};

/// What doctor has to say, in the order of the checks.
class Findings {
public:
    void ok(std::string check, std::string text) {
        all_.push_back({Level::ok, std::move(check), std::move(text), ""});
    }
    void skip(std::string check, std::string text) {
        all_.push_back({Level::skipped, std::move(check), std::move(text), ""});
    }
    void warn(std::string check, std::string text, std::string advice) {
        all_.push_back({Level::warning, std::move(check), std::move(text), std::move(advice)});
    }
    void fail(std::string check, std::string text, std::string advice) {
        all_.push_back({Level::failure, std::move(check), std::move(text), std::move(advice)});
    }

    [[nodiscard]] const std::vector<Finding>& all() const { return all_; }
    [[nodiscard]] int count(Level level) const;

private:
    std::vector<Finding> all_;
};

/// A libvirt daemon that runs QEMU's hooks: libvirtd or virtqemud, run by root.
struct DaemonProcess {
    std::int64_t pid = 0;
    std::string name;
    std::optional<std::time_t> started;
    std::string confinement;       ///< its AppArmor or SELinux label; empty if it cannot be read
    bool may_raise_limits = false; ///< has CAP_SYS_RESOURCE
    std::string memlock;           ///< its own limit, as the kernel prints it
};

/// What libvirt answered.
struct LibvirtState {
    HypervisorFacts facts;
    std::vector<DomainInfo> domains;
};

/// A domain as doctor looks at it: what is defined and, when it runs, what runs.
struct ExaminedDomain {
    std::string name;
    Uuid uuid;
    bool active = false;
    std::optional<xml::DomainView> defined;
    std::optional<xml::DomainView> running;
    std::string error;
};

/// Everything the checks look at, so that each can be tried on made-up facts.
struct Examination {
    const Host& host;
    const Inventory& inventory;
    Result<LibvirtState> libvirt;
    std::vector<ExaminedDomain> domains; ///< empty when libvirt could not be asked
    std::vector<DaemonProcess> daemons;
    std::string hooks_directory = "/etc/libvirt/hooks";
    std::string mdevctl_directory = "/etc/mdevctl.d";
};

/// The checks, top to bottom. None of them opens a VFIO node or changes anything, but for files of
/// their own in the state and the runtime directory, which they remove.
void check_iommu(const Examination& examination, Findings& findings);
void check_gpus(const Examination& examination, Findings& findings);
void check_libvirt(const Examination& examination, Findings& findings);
void check_hook(const Examination& examination, Findings& findings);
void check_security(const Examination& examination, Findings& findings);
void check_storage(const Examination& examination, Findings& findings);
void check_claims(const Examination& examination, Findings& findings);
void check_devices(const Examination& examination, Findings& findings);
void check_domains(const Examination& examination, Findings& findings);
void check_mdevctl(const Examination& examination, Findings& findings);

/// All of them.
[[nodiscard]] Findings examine(const Examination& examination);

/// The daemons among the processes of `proc`. One that cannot be looked at is left out.
[[nodiscard]] std::vector<DaemonProcess> find_daemons(const Proc& proc);
/// The domains with their XML read.
[[nodiscard]] std::vector<ExaminedDomain> read_domains(const std::vector<DomainInfo>& domains);

[[nodiscard]] std::string findings_text(const Findings& findings, bool colour);
[[nodiscard]] std::string findings_json(const Findings& findings);

} // namespace vgpu::cli
