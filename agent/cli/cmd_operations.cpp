#include "agent/cli/command.hpp"
#include "agent/cli/daemon_client.hpp"
#include "agent/cli/operation_text.hpp"
#include "agent/cli/output.hpp"
#include "agent/http/target.hpp"

#include <memory>

namespace vgpu::cli {

namespace {

constexpr const char* details =
    R"(What virt-vgpud does and has done on request, the newest last; with an ID that one, with its
result or why it failed. The last 256 are known, since virt-vgpud was started. Exit code 0 also for
an operation that has failed.)";

int show_operations(const CommonOptions& options, const std::string& id) {
    const auto daemon = DaemonClient::open(options);
    if (!daemon) {
        return report(daemon.error());
    }
    const auto answer =
        daemon->get(id.empty() ? "/v1/operations" : "/v1/operations/" + http::encode_segment(id));
    if (!answer) {
        return report_refusal(answer.error());
    }
    if (options.json) {
        return print(written(answer->body));
    }
    return print(id.empty() ? operations_text(answer->body, wants_colour())
                            : operation_text(answer->body, wants_colour()));
}

} // namespace

void add_operations(CLI::App& app, Program& program) {
    CLI::App* command = add_command(app, program, "operations",
                                    "List what virt-vgpud does and has done on request", details);
    const auto id = std::make_shared<std::string>();
    command->add_option("ID", *id, "Only this operation");
    command->callback([&program, id] {
        program.run = [&program, id] { return show_operations(program.options, *id); };
    });
}

} // namespace vgpu::cli
