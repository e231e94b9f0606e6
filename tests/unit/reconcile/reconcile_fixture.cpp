#include "tests/unit/reconcile/reconcile_fixture.hpp"

#include <fmt/format.h>

namespace vgpu::test {

ReconcileReport Reconciling::pass(bool dry_run) {
    using std::chrono::seconds;
    const auto ignore = [](NoteLevel, const std::string&, const NoteSubject&) {};
    const auto look =
        HostSession::open(host.configuration, HostSession::Purpose::look, seconds(60), ignore)
            .value();
    const auto change =
        HostSession::open(host.configuration, HostSession::Purpose::change, seconds(60), ignore)
            .value();
    ReconcileInput input{*look,
                         *change,
                         reachable ? &hypervisor : nullptr,
                         "libvirt is not there",
                         [this](const Uuid& domain) {
                             return domain.to_string() == busy ? nullptr : std::make_shared<int>(1);
                         },
                         dry_run,
                         rebind,
                         Deadline::in(seconds(60))};
    auto report = reconcile(std::move(input));
    if (!report) {
        ADD_FAILURE() << report.error().text();
        return {};
    }
    return std::move(*report);
}

std::vector<std::string> Reconciling::actions(bool dry_run) {
    std::vector<std::string> texts;
    for (const Action& action : pass(dry_run).actions) {
        texts.push_back(action.error
                            ? fmt::format("{}! {}", to_string(action.stage), action.error->text())
                            : fmt::format("{}: {}", to_string(action.stage), action.text));
    }
    return texts;
}

Claim Reconciling::leave_claim(const std::string& device, ClaimState state, const char* owner) {
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

std::optional<Claim> Reconciling::claim(const std::string& device) {
    return host.claims.read(DeviceKey::parse_device(device).value()).value();
}

void Reconciling::run_qemu(int pid, const std::string& domain, const std::string& device) {
    host.simulator.control(fmt::format(
        "process-add {} comm=qemu-system-x86 cmdline=/usr/bin/qemu\\0-uuid\\0{}", pid, domain));
    host.simulator.control(fmt::format("process-fd {} 7 group:{}", pid, device));
}

} // namespace vgpu::test
