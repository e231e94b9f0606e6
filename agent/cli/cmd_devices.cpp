#include "agent/cli/command.hpp"
#include "agent/cli/output.hpp"
#include "agent/cli/tables.hpp"
#include "agent/core/inventory_json.hpp"

namespace vgpu::cli {

namespace {

int list_devices(const CommonOptions& options) {
    const auto session = Session::open(options, Session::Purpose::look);
    if (!session) {
        return report(session.error());
    }
    const auto inventory = (*session)->inventory();
    if (!inventory) {
        return report(inventory.error());
    }
    return print(options.json ? devices_json(*inventory)
                              : devices_text(*inventory, wants_colour()));
}

} // namespace

void add_devices(CLI::App& app, Program& program) {
    CLI::App* command = add_command(
        app, program, "devices",
        "List the places for vGPUs: VFs, and parents of mdevs.\n"
        "STATE: free; claimed (reserved), configuring, configured (ready or in use), draining "
        "(given up, not\n"
        "yet proven free); dirty (carries a type nobody has claimed); foreign (somebody else's, "
        "never touched);\n"
        "unmanaged (not given to virt-vgpu); in-use (held open without a claim); unreadable; "
        "unusable.\n"
        "An mdev stands on the row of its parent. IN USE comes from /proc: no device is opened.");
    command->callback(
        [&program] { program.run = [&program] { return list_devices(program.options); }; });
}

} // namespace vgpu::cli
