#include "agent/cli/command.hpp"
#include "agent/cli/output.hpp"
#include "agent/cli/tables.hpp"
#include "agent/core/inventory_json.hpp"

namespace vgpu::cli {

namespace {

constexpr const char* details =
    R"(STATE: claimed (reserved, untouched), configuring, configured, draining (its run is over, the device
is not yet proven free), unreadable. VMM: whether the process that was recorded when the domain ran
is alive; - when none was recorded.)";

int list_claims(const CommonOptions& options) {
    const auto session = open_session(options, HostSession::Purpose::look);
    if (!session) {
        return report(session.error());
    }
    const Host& host = (*session)->host();
    const auto claims = host.claims.list();
    if (!claims) {
        return report(claims.error());
    }
    return print(options.json ? claims_json(*claims, host.claims)
                              : claims_text(*claims, host, wants_colour()));
}

} // namespace

void add_claims(CLI::App& app, Program& program) {
    CLI::App* command = add_command(app, program, "claims", "List who owns which device", details);
    command->callback(
        [&program] { program.run = [&program] { return list_claims(program.options); }; });
}

} // namespace vgpu::cli
