#include "agent/cli/command.hpp"
#include "agent/cli/doctor.hpp"
#include "agent/cli/output.hpp"
#include "agent/hypervisor/libvirt_hypervisor.hpp"

#include <chrono>
#include <memory>

namespace vgpu::cli {

namespace {

constexpr const char* details =
    R"(Reads only, apart from files of its own that it makes and removes in the state and the runtime
directory. Opens no device. Works without libvirt, as far as that goes. Exits with 1 if something
has failed; warnings do not count.)";

struct DoctorOptions {
    std::string hooks_directory = "/etc/libvirt/hooks";
    std::string mdevctl_directory = "/etc/mdevctl.d";
};

Result<LibvirtState> ask_libvirt(const std::string& uri) {
    VGPU_TRY_ASSIGN(const auto hypervisor,
                    connect_libvirt(uri, Deadline::in(std::chrono::seconds(15))));
    LibvirtState state;
    VGPU_TRY_ASSIGN(state.facts, hypervisor->facts());
    VGPU_TRY_ASSIGN(state.domains, hypervisor->domains());
    return state;
}

int run_doctor(const CommonOptions& common, const DoctorOptions& options) {
    const auto session = open_session(common, HostSession::Purpose::look);
    if (!session) {
        return report(session.error());
    }
    auto libvirt = ask_libvirt((*session)->config().libvirt.uri);
    const auto inventory = (*session)->look();
    if (!inventory) {
        return report(inventory.error());
    }
    auto domains = libvirt ? read_domains(libvirt->domains) : std::vector<ExaminedDomain>();
    const Examination examination{(*session)->host(),
                                  *inventory,
                                  std::move(libvirt),
                                  std::move(domains),
                                  find_daemons((*session)->host().proc),
                                  options.hooks_directory,
                                  options.mdevctl_directory};
    const Findings findings = examine(examination);
    const int printed =
        print(common.json ? findings_json(findings) : findings_text(findings, wants_colour()));
    return findings.count(Level::failure) > 0 ? exit_failed : printed;
}

} // namespace

void add_doctor(CLI::App& app, Program& program) {
    CLI::App* command =
        add_command(app, program, "doctor",
                    "Check the host from the IOMMU to the domains, and say what to do", details);
    const auto options = std::make_shared<DoctorOptions>();
    // For tests: the places are compiled into libvirt and mdevctl. An empty group hides them.
    command->add_option("--hooks-dir", options->hooks_directory)->group("");
    command->add_option("--mdevctl-dir", options->mdevctl_directory)->group("");
    command->callback([&program, options] {
        program.run = [&program, options] { return run_doctor(program.options, *options); };
    });
}

} // namespace vgpu::cli
