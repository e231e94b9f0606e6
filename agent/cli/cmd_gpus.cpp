#include "agent/cli/command.hpp"
#include "agent/cli/output.hpp"
#include "agent/cli/tables.hpp"
#include "agent/core/inventory_json.hpp"

namespace vgpu::cli {

namespace {

int list_gpus(const CommonOptions& options) {
    const auto session = Session::open(options, Session::Purpose::look);
    if (!session) {
        return report(session.error());
    }
    const auto inventory = (*session)->inventory();
    if (!inventory) {
        return report(inventory.error());
    }
    return print(options.json ? gpus_json(*inventory) : gpus_text(*inventory, wants_colour()));
}

} // namespace

void add_gpus(CLI::App& app, Program& program) {
    CLI::App* command =
        add_command(app, program, "gpus",
                    "List the NVIDIA GPUs with framework, driver, VFs and vGPUs.\n"
                    "VFS: VFs that are enabled / that could be. They are places, not vGPUs: how "
                    "many vGPUs fit is\n"
                    "what `virt-vgpu profiles` says. VGPUS: places that carry a type or a claim.\n"
                    "MEMORY: of the largest profile that is known of the GPU.");
    command->callback(
        [&program] { program.run = [&program] { return list_gpus(program.options); }; });
}

} // namespace vgpu::cli
