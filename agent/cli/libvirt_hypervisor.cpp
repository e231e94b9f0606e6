#include "agent/cli/libvirt_hypervisor.hpp"

#include "agent/cli/call_thread.hpp"

#include <fmt/format.h>
#include <libvirt/libvirt.h>
#include <libvirt/virterror.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>

namespace vgpu::cli {

namespace {

using std::chrono::seconds;

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

Result<HypervisorFacts> facts_of(virConnectPtr connection) {
    HypervisorFacts facts;
    const char* driver = virConnectGetType(connection);
    if (driver == nullptr || virConnectGetLibVersion(connection, &facts.libvirt) != 0) {
        return fail(last_error("ask for libvirt's version"));
    }
    facts.driver = driver;
    if (virConnectGetVersion(connection, &facts.hypervisor) != 0) {
        facts.hypervisor = 0; // no QEMU installed
    }
    return facts;
}

Result<std::vector<DomainInfo>> domains_of(virConnectPtr connection) {
    virDomainPtr* list = nullptr;
    const int count = virConnectListAllDomains(connection, &list, 0);
    if (count < 0) {
        return fail(last_error("list the domains"));
    }
    std::vector<DomainPtr> domains;
    for (int i = 0; i < count; ++i) {
        domains.emplace_back(list[i]);
    }
    std::free(list);
    std::vector<DomainInfo> infos;
    for (const DomainPtr& domain : domains) {
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

Result<DomainInfo> find_domain(virConnectPtr connection, const std::string& name_or_uuid) {
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
    return describe(domain.get(), VIR_DOMAIN_XML_SECURE);
}

Result<void> define_domain(virConnectPtr connection, const std::string& xml) {
    const DomainPtr domain(
        virDomainDefineXMLFlags(connection, xml.c_str(), VIR_DOMAIN_DEFINE_VALIDATE));
    if (!domain) {
        return fail(last_error("define the domain"));
    }
    return {};
}

void ignore_error(void*, virErrorPtr) {}

class LibvirtHypervisor final : public Hypervisor {
public:
    LibvirtHypervisor(const std::string& uri, Deadline deadline)
        : thread_("the libvirt daemon at " + uri), deadline_(deadline) {}

    ~LibvirtHypervisor() override {
        if (connection_) {
            // Closing talks to the daemon as well.
            static_cast<void>(on_thread<bool>([](ConnectionPtr& connection) -> Result<bool> {
                connection.reset();
                return true;
            }));
        }
    }

    Result<void> open(const std::string& uri) {
        connection_ = std::make_shared<ConnectionPtr>();
        VGPU_TRY(on_thread<bool>([uri](ConnectionPtr& connection) -> Result<bool> {
            virSetErrorFunc(nullptr, ignore_error);
            connection.reset(virConnectOpen(uri.c_str()));
            if (!connection) {
                return fail(last_error(fmt::format("connect to {}", uri)));
            }
            return true;
        }));
        return {};
    }

    Result<HypervisorFacts> facts() override {
        return on_thread<HypervisorFacts>(
            [](ConnectionPtr& connection) { return facts_of(connection.get()); });
    }

    Result<std::vector<DomainInfo>> domains() override {
        return on_thread<std::vector<DomainInfo>>(
            [](ConnectionPtr& connection) { return domains_of(connection.get()); });
    }

    Result<DomainInfo> domain(const std::string& name_or_uuid) override {
        return on_thread<DomainInfo>([name_or_uuid](ConnectionPtr& connection) {
            return find_domain(connection.get(), name_or_uuid);
        });
    }

    Result<void> define(const std::string& xml) override {
        return on_thread<void>(
            [xml](ConnectionPtr& connection) { return define_domain(connection.get(), xml); });
    }

private:
    /// Runs `job` with the connection, which the job keeps alive should it never come back.
    template <typename T>
    [[nodiscard]] Result<T> on_thread(std::function<Result<T>(ConnectionPtr&)> job) {
        return thread_.call<T>(
            [connection = connection_, job = std::move(job)] { return job(*connection); },
            deadline_);
    }

    CallThread thread_;
    Deadline deadline_;
    std::shared_ptr<ConnectionPtr> connection_;
};

} // namespace

Result<std::unique_ptr<Hypervisor>> connect_libvirt(const std::string& uri, Deadline deadline) {
    auto hypervisor = std::make_unique<LibvirtHypervisor>(uri, deadline);
    VGPU_TRY(hypervisor->open(uri));
    return std::unique_ptr<Hypervisor>(std::move(hypervisor));
}

} // namespace vgpu::cli
