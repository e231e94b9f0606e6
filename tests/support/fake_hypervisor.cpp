#include "tests/support/fake_hypervisor.hpp"

#include "xml/domain.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace vgpu::test {

namespace {

std::string name_of(const xml::Hostdev& hostdev) {
    return hostdev.address ? hostdev.address->to_string() : hostdev.uuid->to_string();
}

std::string hostdev_text(const std::string& device, const std::string& alias) {
    const DeviceKey key = DeviceKey::parse_device(device).value();
    const std::string name = alias.empty() ? "" : fmt::format("<alias name='ua-{}'/>", alias);
    if (key.is_mdev()) {
        return fmt::format("<hostdev mode='subsystem' type='mdev' managed='no' model='vfio-pci'>"
                           "<source><address uuid='{}'/></source>{}</hostdev>",
                           device, name);
    }
    return fmt::format("<hostdev mode='subsystem' type='pci' managed='no'><driver name='vfio'/>"
                       "<source><address domain='0x{}' bus='0x{}' slot='0x{}' function='0x{}'/>"
                       "</source>{}</hostdev>",
                       device.substr(0, 4), device.substr(5, 2), device.substr(8, 2),
                       device.substr(11), name);
}

} // namespace

void FakeHypervisor::add(const std::string& name, const std::string& uuid,
                         const std::string& profile, const std::vector<std::string>& devices) {
    std::string requests;
    std::string hostdevs;
    for (std::size_t i = 0; i < devices.size(); ++i) {
        const std::string alias = profile.empty() ? "" : fmt::format("vgpu{}", i);
        if (!profile.empty()) {
            requests += fmt::format("<vgpu:device name='{}' profile='{}'/>", alias, profile);
        }
        hostdevs += hostdev_text(devices[i], alias);
    }
    std::string metadata;
    if (!profile.empty()) {
        metadata = fmt::format("<metadata><vgpu:devices xmlns:vgpu='urn:virt-vgpu:domain:1' "
                               "domain='{}'>{}</vgpu:devices></metadata>",
                               uuid, requests);
    }
    const auto defined = define(
        fmt::format("<domain type='kvm'><name>{}</name><uuid>{}</uuid>{}<memory>1048576</memory>"
                    "<os><type>hvm</type></os><devices>{}</devices></domain>",
                    name, uuid, metadata, hostdevs));
    if (!defined) {
        throw std::runtime_error(defined.error().text());
    }
}

void FakeHypervisor::set_active(const std::string& name, bool active) {
    DomainInfo& info = *find(name).value();
    info.active = active;
    info.state = active ? "running" : "shut off";
    info.live_xml = active ? info.xml : "";
}

void FakeHypervisor::remove(const std::string& name) {
    domains_.erase((*find(name).value()).uuid);
}

std::string FakeHypervisor::device_of(const std::string& name) const {
    for (const auto& [uuid, info] : domains_) {
        if (info.name == name) {
            const auto view = xml::read_domain(info.xml).value();
            for (const xml::VgpuRequest& request : view.requests) {
                const auto* hostdev = view.hostdev_of(request);
                return hostdev == nullptr ? "none" : name_of(*hostdev);
            }
        }
    }
    return "none";
}

Result<DomainInfo*> FakeHypervisor::find(const std::string& name_or_uuid) {
    if (broken) {
        return fail(*broken);
    }
    for (auto& [uuid, info] : domains_) {
        if (info.name == name_or_uuid || uuid.to_string() == name_or_uuid) {
            return &info;
        }
    }
    return fail(ErrorCode::not_found, "no domain " + name_or_uuid);
}

Result<void> FakeHypervisor::refusal(const std::string& call) {
    const auto found = refused.find(call);
    if (found != refused.end()) {
        return fail(found->second);
    }
    return {};
}

Result<std::vector<DomainInfo>> FakeHypervisor::domains() {
    if (broken) {
        return fail(*broken);
    }
    std::vector<DomainInfo> list;
    for (const auto& [uuid, info] : domains_) {
        list.push_back(info);
    }
    if (on_list) {
        on_list();
    }
    return list;
}

Result<DomainInfo> FakeHypervisor::domain(const std::string& name_or_uuid) {
    VGPU_TRY_ASSIGN(const DomainInfo* info, find(name_or_uuid));
    return *info;
}

Result<void> FakeHypervisor::define(const std::string& xml) {
    if (broken) {
        return fail(*broken);
    }
    VGPU_TRY(refusal("define"));
    VGPU_TRY_ASSIGN(const xml::DomainView view, xml::read_domain(xml));
    DomainInfo& info = domains_[view.uuid];
    info.uuid = view.uuid;
    info.name = view.name;
    info.xml = xml;
    info.state = info.active ? info.state : "shut off";
    calls.push_back("define " + view.name);
    return {};
}

Result<bool> FakeHypervisor::active(const std::string& domain) {
    VGPU_TRY(refusal("active"));
    VGPU_TRY_ASSIGN(const DomainInfo* info, find(domain));
    return info->active;
}

Result<void> FakeHypervisor::start(const std::string& domain) {
    VGPU_TRY_ASSIGN(DomainInfo* const info, find(domain));
    calls.push_back("start " + info->name);
    VGPU_TRY(refusal("start"));
    if (info->active) {
        return fail(ErrorCode::conflict, "domain is already running");
    }
    if (on_start) {
        VGPU_TRY(on_start(*info));
    }
    set_active(info->name, true);
    return {};
}

Result<void> FakeHypervisor::end(const std::string& domain, const std::string& call) {
    VGPU_TRY_ASSIGN(const DomainInfo* const info, find(domain));
    calls.push_back(call + " " + info->name);
    VGPU_TRY(refusal(call));
    if (!info->active) {
        return fail(ErrorCode::conflict, "domain is not running");
    }
    if (call == "shutdown" && !guest_obeys) {
        return {};
    }
    const DomainInfo before = *info;
    set_active(info->name, false);
    if (on_stop) {
        on_stop(before);
    }
    return {};
}

Result<void> FakeHypervisor::shutdown(const std::string& domain) {
    return end(domain, "shutdown");
}

Result<void> FakeHypervisor::reboot(const std::string& domain) {
    VGPU_TRY_ASSIGN(const DomainInfo* const info, find(domain));
    calls.push_back("reboot " + info->name);
    return info->active ? Result<void>() : fail(ErrorCode::conflict, "domain is not running");
}

Result<void> FakeHypervisor::destroy(const std::string& domain, Termination how) {
    return end(domain, how == Termination::graceful ? "destroy" : "force");
}

Result<void> FakeHypervisor::undefine(const std::string& domain) {
    VGPU_TRY_ASSIGN(const DomainInfo* const info, find(domain));
    calls.push_back("undefine " + info->name);
    VGPU_TRY(refusal("undefine"));
    domains_.erase(info->uuid);
    return {};
}

} // namespace vgpu::test
