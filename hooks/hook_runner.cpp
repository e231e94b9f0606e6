#include "hooks/hook_runner.hpp"

#include "agent/core/adoption.hpp"
#include "agent/core/bounded_sysfs.hpp"
#include "agent/core/device_release.hpp"
#include "agent/core/hook_counters.hpp"
#include "agent/core/posix_sysfs.hpp"
#include "agent/core/prepare.hpp"
#include "agent/core/topology.hpp"
#include "agent/journal/journal.hpp"
#include "xml/domain.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <set>
#include <utility>

namespace vgpu {

namespace {

using std::chrono::milliseconds;
using xml::DomainView;
using xml::Hostdev;

constexpr std::string_view program = "virt-vgpu-hook";

std::string_view name_of(HookOperation operation) {
    switch (operation) {
    case HookOperation::prepare:
        return "prepare";
    case HookOperation::started:
        return "started";
    case HookOperation::release:
        return "release";
    case HookOperation::reconnect:
        return "reconnect";
    case HookOperation::nothing:
        break;
    }
    return "";
}

std::optional<DeviceKey> key_of(const Hostdev& hostdev) {
    if (hostdev.type == Hostdev::Type::pci && hostdev.address) {
        return DeviceKey(*hostdev.address);
    }
    if (hostdev.type == Hostdev::Type::mdev && hostdev.uuid) {
        return DeviceKey(*hostdev.uuid);
    }
    return std::nullopt;
}

Result<Config> configuration() {
    const char* named = std::getenv("VIRT_VGPU_CONFIG");
    return load_config(config_path(), named != nullptr && *named != '\0');
}

/// One hook call on a domain with PCI or mdev devices: the objects it works with, and its
/// operations.
class HookRun {
public:
    HookRun(const Invocation& invocation, const DomainView& domain, const Config& config,
            std::string boot_id, const OrphanCheck& orphan, milliseconds budget)
        : invocation_(invocation), domain_(domain), config_(config), orphan_(orphan),
          deadline_(Deadline::in(budget - budget / 10)), real_sysfs_(config.paths.sysfs),
          locks_(config.paths), claims_(config.paths), proc_(config.paths.proc),
          witnesses_(config.paths, proc_),
          // A tenth of the time is kept for the undo and for the last word.
          sysfs_(real_sysfs_, Deadline::in(budget),
                 [this](int socket) { locks_.keep_only_devices_in_child(socket); }),
          host_{config_,
                sysfs_,
                locks_,
                claims_,
                proc_,
                witnesses_,
                std::move(boot_id),
                [this](NoteLevel level, const std::string& text, const NoteSubject& subject) {
                    note(level, text, subject.device ? subject.device->device() : "");
                }} {
        locks_.on_acquired([this] { sysfs_.forget_child(); });
    }

    HookRun(const HookRun&) = delete;
    HookRun& operator=(const HookRun&) = delete;
    ~HookRun() = default;

    Result<void> prepare() {
        VGPU_TRY_ASSIGN(const PrepareRequest request, prepare_request());
        if (request.wanted.empty() && request.foreign.empty()) {
            return {};
        }
        const auto claims = prepare_domain(host_, request, check(), deadline_);
        if (claims) {
            for (const Claim& claim : *claims) {
                note(NoteLevel::info,
                     fmt::format("{} is ready: {}", claim.device_path,
                                 claim.managed ? claim.profile : "not ours, protected"),
                     claim.device_path);
            }
            return {};
        }
        // A domain that asked for nothing is refused only what another one has, or may have.
        if (request.wanted.empty() && !another_may_have(request.foreign)) {
            note(NoteLevel::warning,
                 "its vGPUs could not be protected by a claim: " + claims.error().text(), "");
            return {};
        }
        return fail(claims.error());
    }

    Result<void> started() {
        VGPU_TRY_ASSIGN(const int recorded,
                        record_vmm(host_, domain_.uuid, domain_.name, check(), deadline_));
        (void)recorded;
        return {};
    }

    Result<void> release() {
        VGPU_TRY_ASSIGN(const auto outcomes,
                        release_domain(host_, domain_.uuid, keys(), check(), deadline_));
        for (const ReleaseOutcome& outcome : outcomes) {
            if (outcome.result) {
                note(NoteLevel::info, fmt::format("{} is wiped and free", outcome.device.device()),
                     outcome.device.device());
            } else {
                note(NoteLevel::warning,
                     outcome.result.error().text() + "; the daemon, the next start that needs the "
                                                     "device, or `virt-vgpu release` finishes it",
                     outcome.device.device());
            }
        }
        return {};
    }

    Result<void> reconnect() {
        std::vector<RunningDevice> devices;
        for (const xml::VgpuRequest& request : domain_.requests) {
            const Hostdev* hostdev = domain_.hostdev_of(request);
            const auto key = hostdev != nullptr ? key_of(*hostdev) : std::nullopt;
            if (key) {
                devices.push_back({*key, request.name, request.profile});
            }
        }
        for (const DeviceKey& key : foreign_keys()) {
            devices.push_back({key, "", ""});
        }
        for (const auto& outcome :
             adopt_domain(host_, domain_.uuid, domain_.name, devices, check(), deadline_)) {
            if (!outcome.result) {
                note(NoteLevel::error, outcome.result.error().text(), outcome.device.device());
            } else if (*outcome.result) {
                note(NoteLevel::info,
                     fmt::format("{} is used by the running domain and had no claim: recorded",
                                 outcome.device.device()),
                     outcome.device.device());
            }
        }
        return {};
    }

    void note(NoteLevel level, const std::string& text, const std::string& device) const {
        log({program, level, fmt::format("domain {}: {}", printable(domain_.name), text),
             domain_.name, domain_.uuid.to_string(), device,
             std::string(name_of(invocation_.operation))});
    }

private:
    [[nodiscard]] Check check() const {
        return [this] { return orphan_.still_wanted(); };
    }

    /// A look without a lock: the lock may be what could not be had. A claim that cannot be read
    /// counts, unless there is no directory that it could be in.
    [[nodiscard]] bool another_may_have(const std::vector<DeviceKey>& devices) const {
        return std::any_of(devices.begin(), devices.end(), [this](const DeviceKey& device) {
            const auto claim = claims_.read(device);
            return claim ? *claim && (*claim)->domain_uuid != domain_.uuid
                         : claim.error().error_number() != ENOTDIR;
        });
    }

    [[nodiscard]] std::vector<DeviceKey> keys() const {
        std::vector<DeviceKey> keys;
        for (const Hostdev& hostdev : domain_.hostdevs) {
            if (const auto key = key_of(hostdev)) {
                keys.push_back(*key);
            }
        }
        return keys;
    }

    [[nodiscard]] std::set<const Hostdev*> requested() const {
        std::set<const Hostdev*> hostdevs;
        for (const xml::VgpuRequest& request : domain_.requests) {
            hostdevs.insert(domain_.hostdev_of(request));
        }
        return hostdevs;
    }

    /// vGPUs that no request of the domain points at. Other PCI devices are nobody's business here.
    [[nodiscard]] std::vector<DeviceKey> foreign_keys() {
        std::vector<DeviceKey> keys;
        const auto ours = requested();
        for (const Hostdev& hostdev : domain_.hostdevs) {
            const auto key = key_of(hostdev);
            if (key && !ours.contains(&hostdev) && (key->is_mdev() || may_be_vendor_vf(*key))) {
                keys.push_back(*key);
            }
        }
        return keys;
    }

    [[nodiscard]] Result<bool> is_vendor_vf(const DeviceKey& key) {
        return sysfs_.exists(pci_path(key.pci()) + "/nvidia/current_vgpu_type");
    }

    /// A device that cannot be looked at may be one: protected all the same (I10).
    [[nodiscard]] bool may_be_vendor_vf(const DeviceKey& key) {
        return is_vendor_vf(key).value_or(true);
    }

    /// libvirt would unbind the VF from its driver, which takes its type away and leaves it
    /// refusing every type until SR-IOV is cycled (hypeman GPU.md).
    Result<void> refuse_managed() {
        for (const Hostdev& hostdev : domain_.hostdevs) {
            const auto key = key_of(hostdev);
            if (!key || key->is_mdev() || !hostdev.managed) {
                continue;
            }
            VGPU_TRY_ASSIGN(const bool vendor_vf, is_vendor_vf(*key));
            if (vendor_vf) {
                return fail(ErrorCode::invalid,
                            fmt::format("{} is a vGPU VF and has managed='yes': libvirt would take "
                                        "it from the nvidia driver and break it; set "
                                        "managed='no' (virsh edit {})",
                                        key->device(), printable(domain_.name)));
            }
        }
        return {};
    }

    Result<PrepareRequest> prepare_request() {
        VGPU_TRY(refuse_managed());
        PrepareRequest request;
        request.domain = domain_.uuid;
        request.name = domain_.name;
        for (const xml::VgpuRequest& wanted : domain_.requests) {
            const Hostdev* hostdev = domain_.hostdev_of(wanted);
            const auto key = hostdev != nullptr ? key_of(*hostdev) : std::nullopt;
            if (!key) {
                return fail(
                    ErrorCode::invalid,
                    fmt::format(
                        "{} ({}) has no device in the domain's XML; run `virt-vgpu assign {}`",
                        wanted.name, printable(wanted.profile, 80), printable(domain_.name)));
            }
            request.wanted.push_back(
                {wanted.name, wanted.profile, wanted.gpu, wanted.params, *key});
        }
        request.foreign = foreign_keys();
        return request;
    }

    const Invocation& invocation_;
    const DomainView& domain_;
    const Config& config_;
    const OrphanCheck& orphan_;
    Deadline deadline_;
    PosixSysfs real_sysfs_;
    Locks locks_;
    ClaimStore claims_;
    Proc proc_;
    Witnesses witnesses_;
    BoundedSysfs sysfs_;
    Host host_;
};

Result<void> run_operation(HookRun& run, HookOperation operation) {
    switch (operation) {
    case HookOperation::prepare:
        return run.prepare();
    case HookOperation::started:
        return run.started();
    case HookOperation::release:
        return run.release();
    case HookOperation::reconnect:
        return run.reconnect();
    case HookOperation::nothing:
        break;
    }
    return {};
}

bool has_devices(const DomainView& domain) {
    return !domain.requests.empty() ||
           std::any_of(domain.hostdevs.begin(), domain.hostdevs.end(),
                       [](const Hostdev& hostdev) { return key_of(hostdev).has_value(); });
}

/// The configuration and the boot, without which nothing can be done.
Result<std::pair<Config, std::string>> surroundings() {
    VGPU_TRY_ASSIGN(Config config, configuration());
    VGPU_TRY_ASSIGN(std::string boot_id, Proc(config.paths.proc).boot_id());
    return std::pair(std::move(config), std::move(boot_id));
}

void log_failure(const Invocation& invocation, const Error& error) {
    log({program, NoteLevel::error,
         fmt::format("domain {}: {}", printable(invocation.domain_name), error.text()),
         invocation.domain_name, "", "", std::string(name_of(invocation.operation))});
}

Result<void> run_privileged(const Invocation& invocation, const DomainView& domain,
                            const OrphanCheck& orphan) {
    const auto began = std::chrono::steady_clock::now();
    auto around = surroundings();
    if (!around) {
        if (domain.requests.empty()) {
            // Our own troubles are none of a domain's that asked us for nothing.
            log_failure(invocation, around.error());
            return {};
        }
        return fail(around.error());
    }
    const Config& config = around->first;
    const auto budget = invocation.operation == HookOperation::prepare ? config.hook.deadline
                                                                       : config.hook.release_budget;
    // The last resort of the program (SIGALRM), should anything but a driver's attribute not come
    // back.
    ::alarm(static_cast<unsigned>(std::chrono::ceil<std::chrono::seconds>(budget).count()) + 5U);
    HookRun run(invocation, domain, config, std::move(around->second), orphan, budget);
    auto done = run_operation(run, invocation.operation);
    count_hook_run(config.paths, name_of(invocation.operation), done.has_value(),
                   std::chrono::duration_cast<std::chrono::microseconds>(
                       std::chrono::steady_clock::now() - began));
    return done;
}

Result<void> run(const Invocation& invocation, const std::string& xml, const OrphanCheck& orphan,
                 bool privileged) {
    if (!xml::may_concern_us(xml)) {
        return {};
    }
    VGPU_TRY_ASSIGN(const DomainView domain, xml::read_domain(xml));
    if (!has_devices(domain)) {
        return {};
    }
    if (privileged) {
        return run_privileged(invocation, domain, orphan);
    }
    if (domain.requests.empty()) {
        return {};
    }
    return fail(ErrorCode::denied,
                "vGPUs need root: define the domain under qemu:///system, this hook runs for an "
                "unprivileged libvirt");
}

} // namespace

int run_hook(const Invocation& invocation, const Result<std::string>& xml,
             const OrphanCheck& orphan, bool privileged, std::string& message) {
    if (invocation.operation == HookOperation::nothing) {
        return 0;
    }
    const auto done = xml ? run(invocation, *xml, orphan, privileged) : fail(xml.error());
    if (!done) {
        log_failure(invocation, done.error());
    }
    if (done || invocation.operation != HookOperation::prepare) {
        return 0;
    }
    message = fmt::format("virt-vgpu: domain {}: {}", printable(invocation.domain_name),
                          done.error().text());
    return 1;
}

} // namespace vgpu
