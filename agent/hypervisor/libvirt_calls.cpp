#include "agent/hypervisor/libvirt_calls.hpp"

#include <fmt/format.h>
#include <libvirt/virterror.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace vgpu::libvirt {

namespace {

ErrorCode code_of(const virError& error) {
    switch (error.code) {
    case VIR_ERR_NO_DOMAIN:
        return ErrorCode::not_found;
    case VIR_ERR_AUTH_FAILED:
    case VIR_ERR_AUTH_CANCELLED:
    case VIR_ERR_AUTH_UNAVAILABLE:
    case VIR_ERR_ACCESS_DENIED:
    case VIR_ERR_OPERATION_DENIED:
        return ErrorCode::denied;
    case VIR_ERR_NO_CONNECT:
    case VIR_ERR_SYSTEM_ERROR:
    case VIR_ERR_RPC:
        return ErrorCode::unavailable;
    case VIR_ERR_XML_ERROR:
    case VIR_ERR_XML_DETAIL:
    case VIR_ERR_XML_INVALID_SCHEMA:
        return ErrorCode::invalid;
    case VIR_ERR_OPERATION_TIMEOUT:
        return ErrorCode::timeout;
    case VIR_ERR_OPERATION_INVALID:
    case VIR_ERR_DOM_EXIST:
        return ErrorCode::conflict;
    case VIR_ERR_RESOURCE_BUSY:
        return ErrorCode::busy;
    case VIR_ERR_NO_SUPPORT:
    case VIR_ERR_CONFIG_UNSUPPORTED:
    case VIR_ERR_OPERATION_UNSUPPORTED:
        return ErrorCode::unsupported;
    default:
        return ErrorCode::io;
    }
}

/// libvirt's last error on this thread, on one line: that of a schema has several.
Error last_error(std::string_view what) {
    const virErrorPtr error = virGetLastError();
    if (error == nullptr || error->message == nullptr) {
        return Error(ErrorCode::io, fmt::format("{}: libvirt gives no reason", what));
    }
    std::string text(error->message);
    while (text.ends_with('\n')) {
        text.pop_back();
    }
    std::replace(text.begin(), text.end(), '\n', ' ');
    return Error(code_of(*error), fmt::format("{}: libvirt says: {}", what, text));
}

Result<std::string> xml_of(virDomainPtr domain, unsigned int flags) {
    const TextPtr text(virDomainGetXMLDesc(domain, flags));
    if (!text) {
        return fail(last_error("read the domain's XML"));
    }
    return std::string(text.get());
}

/// A yes-or-no question; an error is a no, since what depends on it shows elsewhere.
bool is(int answer) {
    return answer == 1;
}

/// As `virsh domstate` says it.
std::string state_text(virDomainPtr domain) {
    int state = VIR_DOMAIN_NOSTATE;
    if (virDomainGetState(domain, &state, nullptr, 0) != 0) {
        return "unknown";
    }
    switch (state) {
    case VIR_DOMAIN_RUNNING:
        return "running";
    case VIR_DOMAIN_BLOCKED:
        return "idle";
    case VIR_DOMAIN_PAUSED:
        return "paused";
    case VIR_DOMAIN_SHUTDOWN:
        return "in shutdown";
    case VIR_DOMAIN_SHUTOFF:
        return "shut off";
    case VIR_DOMAIN_CRASHED:
        return "crashed";
    case VIR_DOMAIN_PMSUSPENDED:
        return "pmsuspended";
    default:
        return "no state";
    }
}

Result<DomainPtr> find(virConnectPtr connection, const std::string& name_or_uuid) {
    DomainPtr domain;
    if (Uuid::parse(name_or_uuid)) {
        domain.reset(virDomainLookupByUUIDString(connection, name_or_uuid.c_str()));
    }
    if (!domain) {
        domain.reset(virDomainLookupByName(connection, name_or_uuid.c_str()));
    }
    if (!domain) {
        return fail(last_error(fmt::format("look for domain {}", printable(name_or_uuid))));
    }
    return domain;
}

/// One call on a domain that answers 0 when done.
template <typename Call>
Result<void> act(virConnectPtr connection, const std::string& name, std::string_view what,
                 Call call) {
    VGPU_TRY_ASSIGN(const DomainPtr domain, find(connection, name));
    if (call(domain.get()) != 0) {
        return fail(last_error(fmt::format("{} domain {}", what, printable(name))));
    }
    return {};
}

void ignore_error(void*, virErrorPtr) {}

Result<DomainInfo> describe(virDomainPtr domain, unsigned int flags) {
    DomainInfo info;
    std::array<unsigned char, VIR_UUID_BUFLEN> uuid{};
    const char* name = virDomainGetName(domain);
    if (name == nullptr || virDomainGetUUID(domain, uuid.data()) != 0) {
        return fail(last_error("look at a domain"));
    }
    info.name = name;
    std::copy(uuid.begin(), uuid.end(), info.uuid.bytes.begin());
    info.active = is(virDomainIsActive(domain));
    info.state = state_text(domain);
    info.persistent = is(virDomainIsPersistent(domain));
    info.has_saved_state = is(virDomainHasManagedSaveImage(domain, 0));
    if (info.persistent) {
        VGPU_TRY_ASSIGN(info.xml, xml_of(domain, flags | VIR_DOMAIN_XML_INACTIVE));
    }
    if (info.active) {
        VGPU_TRY_ASSIGN(info.live_xml, xml_of(domain, flags));
    }
    return info;
}

} // namespace

Result<ConnectionPtr> open(const std::string& uri) {
    virSetErrorFunc(nullptr, ignore_error);
    ConnectionPtr connection(virConnectOpen(uri.c_str()));
    if (!connection) {
        return fail(last_error(fmt::format("connect to {}", uri)));
    }
    return connection;
}

bool alive(virConnectPtr connection) {
    return is(virConnectIsAlive(connection));
}

Result<HypervisorFacts> facts(virConnectPtr connection) {
    HypervisorFacts known;
    const char* driver = virConnectGetType(connection);
    if (driver == nullptr || virConnectGetLibVersion(connection, &known.libvirt) != 0) {
        return fail(last_error("ask for libvirt's version"));
    }
    known.driver = driver;
    if (virConnectGetVersion(connection, &known.hypervisor) != 0) {
        known.hypervisor = 0; // no QEMU installed
    }
    return known;
}

Result<std::vector<DomainInfo>> domains(virConnectPtr connection) {
    virDomainPtr* list = nullptr;
    const int count = virConnectListAllDomains(connection, &list, 0);
    if (count < 0) {
        return fail(last_error("list the domains"));
    }
    std::vector<DomainPtr> found;
    for (int i = 0; i < count; ++i) {
        found.emplace_back(list[i]);
    }
    std::free(list);
    std::vector<DomainInfo> infos;
    for (const DomainPtr& domain : found) {
        auto info = describe(domain.get(), 0);
        if (info) {
            infos.push_back(std::move(*info));
        } else if (info.error().code() != ErrorCode::not_found) {
            DomainInfo unreadable;
            const char* name = virDomainGetName(domain.get());
            unreadable.name = name != nullptr ? name : "?";
            unreadable.error = info.error().text();
            infos.push_back(std::move(unreadable));
        }
    }
    return infos;
}

Result<DomainInfo> domain(virConnectPtr connection, const std::string& name_or_uuid) {
    VGPU_TRY_ASSIGN(const DomainPtr domain, find(connection, name_or_uuid));
    return describe(domain.get(), VIR_DOMAIN_XML_SECURE);
}

Result<void> define(virConnectPtr connection, const std::string& xml) {
    const DomainPtr domain(
        virDomainDefineXMLFlags(connection, xml.c_str(), VIR_DOMAIN_DEFINE_VALIDATE));
    if (!domain) {
        return fail(last_error("define the domain"));
    }
    return {};
}

Result<bool> active(virConnectPtr connection, const std::string& domain) {
    const auto found = find(connection, domain);
    if (!found) {
        return fail(found.error());
    }
    const int answer = virDomainIsActive(found->get());
    if (answer < 0) {
        return fail(last_error(fmt::format("look at domain {}", printable(domain))));
    }
    return answer == 1;
}

Result<void> start(virConnectPtr connection, const std::string& domain) {
    return act(connection, domain, "start", [](virDomainPtr d) { return virDomainCreate(d); });
}

Result<void> shutdown(virConnectPtr connection, const std::string& domain) {
    return act(connection, domain, "shut down",
               [](virDomainPtr d) { return virDomainShutdown(d); });
}

Result<void> reboot(virConnectPtr connection, const std::string& domain) {
    return act(connection, domain, "reboot", [](virDomainPtr d) { return virDomainReboot(d, 0); });
}

Result<void> destroy(virConnectPtr connection, const std::string& domain, Termination how) {
    const unsigned flags = how == Termination::graceful ? VIR_DOMAIN_DESTROY_GRACEFUL : 0;
    return act(connection, domain, "destroy",
               [flags](virDomainPtr d) { return virDomainDestroyFlags(d, flags); });
}

Result<void> undefine(virConnectPtr connection, const std::string& domain) {
    return act(connection, domain, "undefine", [](virDomainPtr d) {
        const unsigned all = VIR_DOMAIN_UNDEFINE_MANAGED_SAVE |
                             VIR_DOMAIN_UNDEFINE_SNAPSHOTS_METADATA |
                             VIR_DOMAIN_UNDEFINE_CHECKPOINTS_METADATA | VIR_DOMAIN_UNDEFINE_NVRAM;
        // A driver that knows less refuses the flags altogether.
        return virDomainUndefineFlags(d, all) == 0 ? 0 : virDomainUndefine(d);
    });
}

} // namespace vgpu::libvirt
