#include "agent/cli/command.hpp"
#include "agent/cli/output.hpp"
#include "agent/cli/tables.hpp"
#include "agent/core/inventory_json.hpp"

namespace vgpu::cli {

namespace {

constexpr const char* details =
    R"(AVAILABLE: how many more vGPUs of this profile could be started now, if only this one is started. On
each managed GPU that is the smaller of two numbers: the free devices that offer the profile (dirty
ones that nobody holds count, since a start cleans them), and the framebuffer that is left, divided
by the profile's. In equal-size mode a GPU takes one framebuffer size at a time, so the numbers of
different profiles do not add up. With mixed sizes, and for MIG-backed profiles, the number is an
upper bound. A profile that was seen before and cannot be created now is listed with 0.)";

int list_profiles(const CommonOptions& options) {
    return print_inventory(options, [&options](const Inventory& inventory) {
        const auto profiles = profiles_of(inventory);
        return options.json ? profiles_json(profiles) : profiles_text(profiles, wants_colour());
    });
}

} // namespace

void add_profiles(CLI::App& app, Program& program) {
    CLI::App* command =
        add_command(app, program, "profiles",
                    "List the vGPU profiles, and how many of each could be started now", details);
    command->callback(
        [&program] { program.run = [&program] { return list_profiles(program.options); }; });
}

} // namespace vgpu::cli
