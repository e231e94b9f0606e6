#include "agent/cli/command.hpp"
#include "agent/cli/output.hpp"
#include "agent/cli/tables.hpp"
#include "agent/core/inventory_json.hpp"

namespace vgpu::cli {

namespace {

constexpr const char* details =
    R"(VFS: VFs that are enabled / that could be. They are places, not vGPUs: how many vGPUs fit is what
`virt-vgpu profiles` says. VGPUS: places that carry a type or a claim. MEMORY: of the largest
profile that is known of the GPU.)";

int list_gpus(const CommonOptions& options) {
    return print_inventory(options, [&options](const Inventory& inventory) {
        return options.json ? gpus_json(inventory) : gpus_text(inventory, wants_colour());
    });
}

} // namespace

void add_gpus(CLI::App& app, Program& program) {
    CLI::App* command =
        add_command(app, program, "gpus",
                    "List the NVIDIA GPUs with framework, driver, VFs and vGPUs", details);
    command->callback(
        [&program] { program.run = [&program] { return list_gpus(program.options); }; });
}

} // namespace vgpu::cli
