#include "agent/cli/instance_action.hpp"
#include "agent/cli/output.hpp"

#include <fmt/format.h>

#include <functional>
#include <memory>
#include <utility>

namespace vgpu::cli {

namespace {

constexpr const char* start_details =
    R"(Ends claims that are stale, points the domain at devices that are free, and starts it. A domain
that runs is left as it is.)";

constexpr const char* stop_details =
    R"(Asks the guest to shut down; when it has not done so in time the VMM is ended with SIGTERM, then with
SIGKILL. Then the devices are reset and freed. A domain that is off is only freed of its claims.)";

constexpr const char* reboot_details =
    R"(Asks the guest to reboot. Its vGPUs stay configured as they are.)";

constexpr const char* delete_details =
    R"(Stops the domain, frees its devices and removes its definition. Disks are left alone. While a device
cannot be freed its claim and the definition stay.)";

constexpr const char* safe_again =
    "repeating the command is safe: it ends where this one would have";
constexpr const char* reboot_again =
    "repeating the command may reboot the guest a second time; look at the guest first";
constexpr const char* delete_again =
    "repeating the command is safe: a domain that is gone is answered with \"not found\"";

struct LifecycleOptions {
    std::string domain;
    bool force = false;
    int timeout = -1; ///< seconds; negative: the daemon's own
};

ChangeRequest action_of(const LifecycleOptions& options, const std::string& verb,
                        const char* doing) {
    ChangeRequest action;
    action.request.method = "POST";
    action.request.target = instance_target(options.domain, verb);
    action.doing = fmt::format("{} {}", doing, options.domain);
    action.command = fmt::format("{} {}", verb, options.domain);
    action.again = verb == "reboot" ? reboot_again : safe_again;
    return action;
}

ChangeRequest stop_action(const LifecycleOptions& options) {
    ChangeRequest action = action_of(options, "stop", "stopping");
    Json body = Json::object();
    if (options.force) {
        body["force"] = true;
    }
    if (options.timeout >= 0) {
        body["timeout_s"] = options.timeout;
    }
    action.request.body = body.dump();
    return action;
}

int delete_instance(const CommonOptions& common, const LifecycleOptions& options) {
    const auto daemon = DaemonClient::open(common);
    if (!daemon) {
        return report(daemon.error());
    }
    ChangeRequest action = action_of(options, "delete", "deleting");
    action.request.method = "DELETE";
    action.request.target = instance_target(options.domain) + (options.force ? "?force=true" : "");
    action.again = delete_again;
    const auto gone = carry_out(*daemon, std::move(action));
    if (!gone) {
        return report_refusal(gone.error());
    }
    if (common.json) {
        return print(written(Json{{"deleted", options.domain}}));
    }
    return print(fmt::format("{} is deleted; its disks are left alone\n",
                             printable(options.domain, options.domain.size())));
}

CLI::App* add_action(CLI::App& app, Program& program, const char* name, const char* brief,
                     const char* details,
                     const std::function<int(const CommonOptions&, const LifecycleOptions&)>& run,
                     const std::shared_ptr<LifecycleOptions>& options) {
    CLI::App* command = add_command(app, program, name, brief, details);
    add_instance_argument(*command, options->domain);
    command->callback([&program, options, run] {
        program.run = [&program, options, run] { return run(program.options, *options); };
    });
    return command;
}

} // namespace

void add_start(CLI::App& app, Program& program) {
    add_action(
        app, program, "start", "Start a domain on devices that are free", start_details,
        [](const CommonOptions& common, const LifecycleOptions& options) {
            return act_on_instance(common, action_of(options, "start", "starting"));
        },
        std::make_shared<LifecycleOptions>());
}

void add_stop(CLI::App& app, Program& program) {
    const auto options = std::make_shared<LifecycleOptions>();
    CLI::App* command = add_action(
        app, program, "stop", "Shut a domain down and free its vGPUs", stop_details,
        [](const CommonOptions& common, const LifecycleOptions& given) {
            return act_on_instance(common, stop_action(given));
        },
        options);
    command->add_flag("--force", options->force, "Do not ask the guest, end the VMM");
    constexpr int longest = 150;
    command
        ->add_option("--timeout", options->timeout,
                     "How long the guest may take to shut down, in seconds (default: 15)")
        ->check(CLI::Range(0, longest))
        ->type_name("SECONDS");
}

void add_reboot(CLI::App& app, Program& program) {
    add_action(
        app, program, "reboot", "Ask the guest of a domain to reboot", reboot_details,
        [](const CommonOptions& common, const LifecycleOptions& options) {
            return act_on_instance(common, action_of(options, "reboot", "rebooting"));
        },
        std::make_shared<LifecycleOptions>());
}

void add_delete(CLI::App& app, Program& program) {
    const auto options = std::make_shared<LifecycleOptions>();
    CLI::App* command =
        add_action(app, program, "delete", "Stop a domain and remove its definition",
                   delete_details, delete_instance, options);
    command->add_flag("--force", options->force, "Do not ask the guest, end the VMM");
}

} // namespace vgpu::cli
