#include "agent/lifecycle/operation.hpp"
#include "xml/instance_builder.hpp"
#include "xml/instance_metadata.hpp"
#include "xml/instance_request.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>
#include <utility>

namespace vgpu {

namespace {

/// What virt-install would choose: KVM where there is one.
std::string_view default_virt_type(const Config& config) {
    std::error_code error;
    return std::filesystem::exists(config.paths.dev + "/kvm", error) ? "kvm" : "qemu";
}

/// A vGPU is a VFIO device, which of libvirt's hypervisors QEMU alone gives to a guest.
Result<void> may_carry_vgpus(const std::string& xml) {
    VGPU_TRY_ASSIGN(const std::string type, xml::virt_type_of(xml));
    if (type == "kvm" || type == "qemu") {
        return {};
    }
    return fail(ErrorCode::unsupported,
                fmt::format("a domain of type {} cannot have a vGPU: kvm or qemu can",
                            printable(type, 40)));
}

/// The domain of that name or UUID is there: it is the answer if it was made from this request.
Result<void> is_the_same(const DomainInfo& info, const xml::InstanceRequest& request) {
    const std::string& text = info.xml.empty() ? info.live_xml : info.xml;
    VGPU_TRY_ASSIGN(const auto made_from, xml::instance_request_of(text));
    const bool same_uuid = !request.uuid || *request.uuid == info.uuid;
    if (info.name == request.name && same_uuid && made_from == xml::request_text(request)) {
        return {};
    }
    return fail(ErrorCode::conflict,
                fmt::format("{} is there already, and was {}; take another name, or delete it "
                            "first",
                            named(info),
                            made_from ? "made from another request" : "not made by virt-vgpu"));
}

Result<std::optional<DomainInfo>> existing(DomainControl& hypervisor,
                                           const xml::InstanceRequest& request) {
    for (const std::string& id :
         {request.name, request.uuid ? request.uuid->to_string() : request.name}) {
        auto info = hypervisor.domain(id);
        if (info) {
            return std::optional(std::move(*info));
        }
        if (info.error().code() != ErrorCode::not_found) {
            return fail(info.error());
        }
    }
    return std::optional<DomainInfo>();
}

} // namespace

Result<InstanceState> Lifecycle::create(const xml::InstanceRequest& request, Deadline deadline,
                                        bool* fresh) {
    VGPU_TRY(xml::check_instance_request(request));
    VGPU_TRY_ASSIGN(const auto operation, Operation::open(*this, deadline));
    VGPU_TRY(operation->lock(request.name));
    VGPU_TRY_ASSIGN(auto there, existing(operation->hypervisor(), request));
    const bool made_now = !there;
    if (fresh != nullptr) {
        *fresh = made_now;
    }
    if (there) {
        VGPU_TRY(is_the_same(*there, request));
    }
    const Uuid uuid = there ? there->uuid : request.uuid.value_or(Uuid::random());
    VGPU_TRY(operation->lock(uuid.to_string()));
    if (made_now) {
        VGPU_TRY_ASSIGN(std::string xml,
                        xml::instance_xml(request, uuid, default_virt_type(config_)));
        VGPU_TRY(may_carry_vgpus(xml));
        if (!request.gpus.empty()) {
            // A plan wants to see the requests; which device each names does not matter to it.
            xml::DomainView view;
            view.uuid = uuid;
            view.name = request.name;
            view.requests.assign(request.gpus.begin(), request.gpus.end());
            VGPU_TRY_ASSIGN(const auto plan, operation->plan(view, request));
            xml::InstanceRequest spelled = request;
            std::vector<DeviceKey> devices;
            for (std::size_t i = 0; i < plan.size(); ++i) {
                spelled.gpus[i].profile = plan[i].assignment.request.profile;
                devices.push_back(plan[i].assignment.device);
            }
            VGPU_TRY_ASSIGN(xml, xml::with_devices(xml, spelled, devices));
        }
        VGPU_TRY(operation->hypervisor().define(xml));
        operation->assigned();
    }
    VGPU_TRY_ASSIGN(const DomainInfo info, operation->hypervisor().domain(uuid.to_string()));
    if (request.start && !info.active) {
        const auto started = request.gpus.empty() ? operation->hypervisor().start(uuid.to_string())
                                                  : operation->start(info);
        if (!started) {
            const auto active = operation->hypervisor().active(uuid.to_string());
            if (made_now && active && !*active) {
                const auto gone = operation->hypervisor().undefine(uuid.to_string());
                return fail(gone
                                ? started.error()
                                : started.error().hint("it stays defined: " + gone.error().text()));
            }
            return fail(started.error());
        }
    }
    return operation->state_of(uuid.to_string());
}

Result<InstanceState> Lifecycle::fork(const std::string& id, const ForkRequest& request,
                                      Deadline deadline) {
    VGPU_TRY(xml::check_instance_name(request.name));
    VGPU_TRY_ASSIGN(const auto operation, Operation::open(*this, deadline));
    VGPU_TRY(operation->lock(request.name));
    const Uuid uuid = request.uuid.value_or(Uuid::random());
    VGPU_TRY(operation->lock(uuid.to_string()));
    for (const std::string& taken : {request.name, uuid.to_string()}) {
        const auto there = operation->hypervisor().domain(taken);
        if (there) {
            return fail(ErrorCode::conflict,
                        named(*there) + " is there already; take another name");
        }
        if (there.error().code() != ErrorCode::not_found) {
            return fail(there.error());
        }
    }
    VGPU_TRY_ASSIGN(const DomainInfo source, operation->take(id));
    const std::string& source_xml = source.xml.empty() ? source.live_xml : source.xml;
    VGPU_TRY_ASSIGN(std::string xml,
                    xml::forked_xml(source_xml, request.name, uuid, request.disks));
    VGPU_TRY_ASSIGN(const xml::DomainView view, xml::read_domain(xml));
    VGPU_TRY_ASSIGN(const auto plan, operation->plan(view, {}));
    for (const PlannedDevice& planned : plan) {
        VGPU_TRY_ASSIGN(xml, xml::with_assignment(xml, planned.assignment));
    }
    VGPU_TRY(operation->hypervisor().define(xml));
    operation->assigned();
    if (request.start) {
        VGPU_TRY_ASSIGN(const DomainInfo info, operation->hypervisor().domain(uuid.to_string()));
        VGPU_TRY(operation->start(info));
    }
    return operation->state_of(uuid.to_string());
}

Result<InstanceState> Lifecycle::get(const std::string& id, Deadline deadline) {
    VGPU_TRY_ASSIGN(const auto operation, Operation::open(*this, deadline));
    return operation->state_of(id);
}

Result<std::vector<InstanceState>> Lifecycle::list(Deadline deadline) {
    VGPU_TRY_ASSIGN(const auto operation, Operation::open(*this, deadline));
    VGPU_TRY_ASSIGN(const auto domains, operation->hypervisor().domains());
    VGPU_TRY_ASSIGN(const auto stored, operation->host().claims.list());
    std::vector<Claim> claims;
    for (const StoredClaim& claim : stored) {
        if (claim.claim) {
            claims.push_back(*claim.claim);
        }
    }
    std::vector<InstanceState> list;
    for (const DomainInfo& info : domains) {
        const std::string& text = info.live_xml.empty() ? info.xml : info.live_xml;
        if (!info.error.empty() || !xml::may_concern_us(text)) {
            continue;
        }
        auto state = instance_state(info, claims, config_.paths.sysfs);
        if (!state) {
            note_(NoteLevel::warning, state.error().text(), NoteSubject(info.uuid, info.name));
        } else if (!state->gpus.empty()) {
            list.push_back(std::move(*state));
        }
    }
    std::sort(list.begin(), list.end(),
              [](const InstanceState& a, const InstanceState& b) { return a.name < b.name; });
    return list;
}

} // namespace vgpu
