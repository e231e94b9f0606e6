#include "tests/unit/lifecycle/lifecycle_fixture.hpp"

#include "agent/assignment/assignment_plan.hpp"
#include "agent/core/device_release.hpp"
#include "agent/core/prepare.hpp"

#include <fmt/format.h>

namespace vgpu::test {

namespace {

/// Every operation has a connection of its own; here all lead to one libvirt.
class Shared final : public DomainControl {
public:
    explicit Shared(FakeHypervisor& inner) : inner_(inner) {}
    Result<HypervisorFacts> facts() override { return inner_.facts(); }
    Result<std::vector<DomainInfo>> domains() override { return inner_.domains(); }
    Result<DomainInfo> domain(const std::string& name) override { return inner_.domain(name); }
    Result<void> define(const std::string& xml) override { return inner_.define(xml); }
    void set_deadline(Deadline deadline) override { inner_.set_deadline(deadline); }
    bool usable() override { return inner_.usable(); }
    Result<bool> active(const std::string& domain) override { return inner_.active(domain); }
    Result<void> start(const std::string& domain) override { return inner_.start(domain); }
    Result<void> shutdown(const std::string& domain) override { return inner_.shutdown(domain); }
    Result<void> reboot(const std::string& domain) override { return inner_.reboot(domain); }
    Result<void> destroy(const std::string& domain, Termination how) override {
        return inner_.destroy(domain, how);
    }
    Result<void> undefine(const std::string& domain) override { return inner_.undefine(domain); }

private:
    FakeHypervisor& inner_;
};

PrepareRequest prepare_request(const DomainInfo& info) {
    const auto view = xml::read_domain(info.xml).value();
    PrepareRequest request{view.uuid, view.name, {}, {}};
    for (const xml::VgpuRequest& wanted : view.requests) {
        request.wanted.push_back({wanted.name, wanted.profile, wanted.gpu, wanted.params,
                                  *key_of(*view.hostdev_of(wanted))});
    }
    return request;
}

Result<void> yes() {
    return {};
}

} // namespace

Living::Living()
    : lifecycle(
          host.configuration, locks,
          [this](Deadline) -> Result<std::unique_ptr<DomainControl>> {
              return std::make_unique<Shared>(hypervisor);
          },
          [this](NoteLevel, const std::string& text, const NoteSubject&) {
              host.notes.push_back(text);
          }) {
    hypervisor.on_start = [this](const DomainInfo& info) -> Result<void> {
        if (hook_installed) {
            VGPU_TRY(prepare_domain(host.host, prepare_request(info), yes, soon()));
        }
        return {};
    };
    hypervisor.on_stop = [this](const DomainInfo& info) {
        if (hook_installed) {
            EXPECT_TRUE(release_domain(host.host, info.uuid, {}, yes, soon()));
        }
    };
}

xml::InstanceRequest Living::request(const std::string& name, bool start) {
    xml::InstanceRequest made;
    made.name = name;
    made.vcpus = 2;
    made.memory_mib = 2048;
    made.start = start;
    xml::InstanceGpu gpu;
    gpu.name = "vgpu0";
    gpu.profile = "L40S-4Q";
    made.gpus.push_back(gpu);
    return made;
}

std::optional<Claim> Living::claim(const std::string& device) {
    return host.claims.read(DeviceKey::parse_device(device).value()).value();
}

Claim Living::leave_claim(const std::string& device, ClaimState state, const char* owner) {
    constexpr std::uint32_t type = 1150;
    if (state != ClaimState::claimed) {
        host.simulator.control(fmt::format("set-type {} {}", device, type));
    }
    Claim made = host.claim_on(device, profile_4q, type);
    made.state = state;
    made.domain_uuid = Uuid::parse(owner).value();
    made.gpu = PciAddress::parse("0000:41:00.0").value();
    host.store(device, made);
    return made;
}

void Living::run_qemu(int pid, const std::string& domain, const std::string& device) {
    host.simulator.control(fmt::format(
        "process-add {} comm=qemu-system-x86 cmdline=/usr/bin/qemu\\0-uuid\\0{}", pid, domain));
    host.simulator.control(fmt::format("process-fd {} 7 group:{}", pid, device));
}

} // namespace vgpu::test
