#include "agent/cli/command.hpp"
#include "agent/cli/output.hpp"
#include "agent/cli/tables.hpp"
#include "agent/core/inventory_json.hpp"

namespace vgpu::cli {

namespace {

constexpr const char* details =
    R"(STATE: free; claimed (reserved), configuring, configured (ready or in use), draining (given up, not
yet proven free); dirty (carries a type that nobody has claimed); foreign (somebody else's, never
touched); unmanaged (not given to virt-vgpu); in-use (held open without a claim); unreadable;
unusable. An mdev stands on the row of its parent. IN USE comes from /proc: no device is opened.)";

int list_devices(const CommonOptions& options) {
    return print_inventory(options, [&options](const Inventory& inventory) {
        return options.json ? devices_json(inventory) : devices_text(inventory, wants_colour());
    });
}

} // namespace

void add_devices(CLI::App& app, Program& program) {
    CLI::App* command = add_command(
        app, program, "devices", "List the places for vGPUs: VFs, and parents of mdevs", details);
    command->callback(
        [&program] { program.run = [&program] { return list_devices(program.options); }; });
}

} // namespace vgpu::cli
