#include "agent/cli/command.hpp"
#include "agent/cli/daemon_client.hpp"
#include "agent/cli/instance_text.hpp"
#include "agent/cli/output.hpp"
#include "agent/http/target.hpp"

#include <fmt/format.h>

#include <memory>

namespace vgpu::cli {

namespace {

constexpr const char* list_details =
    R"(The domains that ask for a vGPU, running or not. DEVICES: the places that their vGPUs have, or that
their definitions name for the next start. Asks virt-vgpud.)";

constexpr const char* one_details =
    R"(CLAIM: the state of the claim that the vGPU has now; none while the domain is off. Asks virt-vgpud.)";

/// The daemon answers with its last list while libvirt keeps it waiting, and says so.
void warn_of_age(const DaemonClient::Answer& answer) {
    const std::string age = http::header_value(answer.headers, "Age");
    if (!age.empty()) {
        warn(fmt::format("libvirt does not answer virt-vgpud: this list is {} s old", age));
    }
}

int list_instances(const CommonOptions& options, bool names_only) {
    const auto daemon = DaemonClient::open(options);
    if (!daemon) {
        return report(daemon.error());
    }
    const auto answer = daemon->get("/v1/instances");
    if (!answer) {
        return report_refusal(answer.error());
    }
    warn_of_age(*answer);
    if (options.json) {
        return print(written(answer->body));
    }
    return print(names_only ? instance_names(answer->body)
                            : instances_text(answer->body, wants_colour()));
}

int show_instance(const CommonOptions& options, const std::string& id) {
    const auto daemon = DaemonClient::open(options);
    if (!daemon) {
        return report(daemon.error());
    }
    const auto answer = daemon->get("/v1/instances/" + http::encode_segment(id));
    if (!answer) {
        return report_refusal(answer.error());
    }
    return print(options.json ? written(answer->body)
                              : instance_text(answer->body, wants_colour()));
}

} // namespace

void add_instances(CLI::App& app, Program& program) {
    CLI::App* command =
        add_command(app, program, "instances", "List the domains that ask for vGPUs", list_details);
    const auto names_only = std::make_shared<bool>(false);
    command->add_flag("--names", *names_only, "Only the names, one a line");
    command->callback([&program, names_only] {
        program.run = [&program, names_only] {
            return list_instances(program.options, *names_only);
        };
    });
}

void add_instance(CLI::App& app, Program& program) {
    CLI::App* command =
        add_command(app, program, "instance", "Show one domain and its vGPUs", one_details);
    const auto domain = std::make_shared<std::string>();
    add_instance_argument(*command, *domain);
    command->callback([&program, domain] {
        program.run = [&program, domain] { return show_instance(program.options, *domain); };
    });
}

} // namespace vgpu::cli
