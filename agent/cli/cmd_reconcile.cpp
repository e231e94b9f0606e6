#include "agent/cli/command.hpp"
#include "agent/cli/output.hpp"
#include "agent/hypervisor/libvirt_hypervisor.hpp"
#include "agent/reconcile/instance_owner.hpp"
#include "agent/reconcile/reconciler.hpp"

#include <chrono>
#include <memory>
#include <utility>

namespace vgpu::cli {

namespace {

using std::chrono::seconds;

constexpr seconds longest(120);

constexpr const char* details =
    R"(Heals what a crash left behind, once, as virt-vgpud does all the time: finishes claims that are
draining, ends those whose domain and VMM are gone, gives running domains the claims that they lack,
resets managed devices that carry a type and belong to nobody, and points shut-off domains at devices
that are free. What cannot be proved stays as it is. Exit code 1 when a step has failed.)";

struct ReconcileOptions {
    bool dry_run = false;
    bool no_rebind = false;
};

void say_nothing(NoteLevel, const std::string&, const NoteSubject&) {}

Result<ReconcileReport> reconcile_here(const CommonOptions& common,
                                       const ReconcileOptions& options) {
    VGPU_TRY_ASSIGN(const Config config, configuration(common));
    // A dry run holds nothing that an operation could miss.
    std::optional<FileLock> right;
    if (!options.dry_run) {
        VGPU_TRY_ASSIGN(FileLock lock, become_instance_owner(config.paths));
        right.emplace(std::move(lock));
    }
    const Deadline deadline = Deadline::in(longest);
    VGPU_TRY_ASSIGN(const auto look,
                    HostSession::open(config, HostSession::Purpose::look, longest, say_nothing));
    VGPU_TRY_ASSIGN(const auto change,
                    HostSession::open(config, HostSession::Purpose::change, longest, say_nothing));
    const auto hypervisor = connect_libvirt(config.libvirt.uri, deadline.within(seconds(60)));
    ReconcileInput input{*look,
                         *change,
                         hypervisor ? hypervisor->get() : nullptr,
                         hypervisor ? "" : hypervisor.error().text(),
                         [](const Uuid&) { return std::make_shared<int>(0); },
                         options.dry_run,
                         config.libvirt.rebind && !options.no_rebind,
                         deadline};
    return reconcile(std::move(input));
}

int run_reconcile(const CommonOptions& common, const ReconcileOptions& options) {
    const auto report_or_error = reconcile_here(common, options);
    if (!report_or_error) {
        return report(report_or_error.error());
    }
    const int printed =
        print(common.json ? report_json(*report_or_error) : report_text(*report_or_error));
    return report_or_error->failures() > 0 ? exit_failed : printed;
}

} // namespace

void add_reconcile(CLI::App& app, Program& program) {
    CLI::App* command =
        add_command(app, program, "reconcile", "Heal what a crash left behind", details);
    const auto options = std::make_shared<ReconcileOptions>();
    command->add_flag("--dry-run", options->dry_run, "Only say what would be done");
    command->add_flag("--no-rebind", options->no_rebind,
                      "Leave the definitions of shut-off domains alone");
    command->callback([&program, options] {
        program.run = [&program, options] { return run_reconcile(program.options, *options); };
    });
}

} // namespace vgpu::cli
