#include "agent/assignment/definition.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace vgpu {

namespace {

using std::chrono::milliseconds;
using xml::DomainView;
using xml::VgpuRequest;

/// libvirt drops, without a word, what it does not know in a definition.
Result<void> has_survived(const Definition& definition, const PlannedDevice& planned) {
    const VgpuRequest& wanted = planned.assignment.request;
    const DomainView& view = definition.view;
    const auto found = std::find(view.requests.begin(), view.requests.end(), wanted);
    const xml::Hostdev* hostdev = found == view.requests.end() ? nullptr : view.hostdev_of(*found);
    if (hostdev == nullptr || key_of(*hostdev) != planned.assignment.device || hostdev->managed ||
        view.request_domain != view.uuid) {
        return fail(not_kept(definition, wanted.name));
    }
    return {};
}

} // namespace

Result<FileLock> lock_assignments(const Config::Paths& paths, Deadline deadline) {
    const std::string path = paths.runtime + "/assign.lock";
    while (true) {
        VGPU_TRY_ASSIGN(auto lock, FileLock::try_lock(path));
        if (lock) {
            return std::move(*lock);
        }
        if (deadline.passed()) {
            return fail(ErrorCode::timeout,
                        "another `virt-vgpu assign` or the daemon's rebind has been writing "
                        "assignments for too long; see " +
                            path);
        }
        std::this_thread::sleep_for(std::min(milliseconds(50), deadline.remaining()));
    }
}

Result<Definition> read_definition(DomainInfo info) {
    if (!info.persistent) {
        return fail(
            ErrorCode::unsupported,
            fmt::format("domain {} is transient: it has no persistent definition that a vGPU "
                        "could be written into; define it first (virsh dumpxml {} >FILE; virsh "
                        "define FILE)",
                        printable(info.name), printable(info.name)));
    }
    auto view = xml::read_domain(info.xml);
    if (!view) {
        return fail(view.error().in(fmt::format("the XML of domain {}", printable(info.name))));
    }
    return Definition{std::move(info), std::move(*view)};
}

Result<Definition> definition_of(Hypervisor& hypervisor, const std::string& name) {
    VGPU_TRY_ASSIGN(DomainInfo info, hypervisor.domain(name));
    return read_definition(std::move(info));
}

Result<Definition> redefine(Hypervisor& hypervisor, const Definition& before,
                            const std::string& xml) {
    const std::string uuid = before.info.uuid.to_string();
    VGPU_TRY_ASSIGN(const DomainInfo now, hypervisor.domain(uuid));
    if (now.xml != before.info.xml) {
        return fail(
            ErrorCode::conflict,
            fmt::format("the definition of domain {} was changed by somebody else just now: "
                        "nothing was written, try again",
                        printable(before.info.name)));
    }
    const auto defined = hypervisor.define(xml);
    if (!defined) {
        return fail(defined.error().code() == ErrorCode::timeout
                        ? defined.error().hint("whether the definition has changed is not known: "
                                               "look at `virsh dumpxml --inactive`")
                        : defined.error());
    }
    return definition_of(hypervisor, uuid);
}

Result<bool> write_plan(Hypervisor& hypervisor, const Definition& definition,
                        const std::vector<PlannedDevice>& plan) {
    std::string xml = definition.info.xml;
    for (const PlannedDevice& planned : plan) {
        VGPU_TRY_ASSIGN(xml, xml::with_assignment(xml, planned.assignment));
    }
    if (xml == definition.info.xml) {
        return false;
    }
    VGPU_TRY_ASSIGN(const Definition after, redefine(hypervisor, definition, xml));
    for (const PlannedDevice& planned : plan) {
        VGPU_TRY(has_survived(after, planned));
    }
    return true;
}

Error not_kept(const Definition& definition, const std::string& request) {
    return Error(ErrorCode::io,
                 fmt::format("libvirt took the definition of domain {} but did not keep what was "
                             "written of {}: look at `virsh dumpxml --inactive {}`",
                             printable(definition.info.name), request,
                             printable(definition.info.name)));
}

std::vector<NamedDevice> named_elsewhere(const std::vector<DomainInfo>& domains, const Uuid& own,
                                         std::vector<std::string>& warnings) {
    std::vector<NamedDevice> named;
    for (const DomainInfo& domain : domains) {
        if (domain.uuid == own) {
            continue;
        }
        std::string trouble = domain.error;
        for (const std::string* xml : {&domain.xml, &domain.live_xml}) {
            const auto view =
                xml->empty() ? fail(ErrorCode::not_found, "") : xml::read_domain(*xml);
            if (!view) {
                trouble = xml->empty() ? trouble : view.error().text();
                continue;
            }
            for (const xml::Hostdev& hostdev : view->hostdevs) {
                const auto key = key_of(hostdev);
                if (!key) {
                    continue;
                }
                NamedDevice device{*key, domain.name, ""};
                for (const VgpuRequest& request : view->requests) {
                    device.profile =
                        view->hostdev_of(request) == &hostdev ? request.profile : device.profile;
                }
                named.push_back(std::move(device));
            }
        }
        if (!trouble.empty()) {
            warnings.push_back(fmt::format("the devices of domain {} are not known: {}",
                                           printable(domain.name), trouble));
        }
    }
    return named;
}

} // namespace vgpu
