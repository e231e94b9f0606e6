#include "agent/cli/command.hpp"
#include "agent/cli/operation_wait.hpp"
#include "agent/cli/output.hpp"
#include "agent/cli/reconcile_answer.hpp"
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
that are free. What cannot be proved stays as it is. Exit code 1 when a step has failed. virt-vgpud
makes the pass if it runs, else this program does, which needs root.)";

struct ReconcileOptions {
    bool dry_run = false;
    bool no_rebind = false;
};

void say_nothing(NoteLevel, const std::string&, const DeviceKey&) {}

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

/// Error: is_not_running() for one that somebody has to make here.
Result<ReconcileReport> reconcile_in_daemon(const CommonOptions& common,
                                            const ReconcileOptions& options) {
    VGPU_TRY_ASSIGN(const DaemonClient daemon, DaemonClient::open(common));
    ChangeRequest change;
    change.request.method = "POST";
    change.request.target = "/v1/reconcile";
    change.request.body = written_line(Json{{"dry_run", options.dry_run}});
    change.doing = options.dry_run ? "looking at what there is to heal" : "healing";
    change.command = "reconcile";
    change.again = "repeating the command is safe";
    VGPU_TRY_ASSIGN(const Json answer, carry_out(daemon, std::move(change)));
    if (!member(answer, "actions").is_array()) {
        return fail(ErrorCode::io, "virt-vgpud answered something else than a report");
    }
    return report_of(answer);
}

int finish(const CommonOptions& common, const ReconcileReport& report) {
    const int printed = print(common.json ? report_json(report) : report_text(report));
    return report.failures() > 0 ? exit_failed : printed;
}

int run_reconcile(const CommonOptions& common, const ReconcileOptions& options) {
    // A daemon rebinds as its configuration says, and is not told otherwise for one pass.
    if (!options.no_rebind) {
        const auto made = reconcile_in_daemon(common, options);
        if (made) {
            return finish(common, *made);
        }
        if (!is_not_running(made.error())) {
            return report_refusal(made.error());
        }
    }
    const auto made = reconcile_here(common, options);
    if (made) {
        return finish(common, *made);
    }
    const bool daemon_runs = options.no_rebind && made.error().code() == ErrorCode::busy;
    return report(daemon_runs ? made.error().hint("it makes the pass without --no-rebind, and "
                                                  "`rebind = false` in [libvirt] is its way to "
                                                  "leave definitions alone")
                              : made.error());
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
