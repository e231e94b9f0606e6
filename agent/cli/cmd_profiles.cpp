#include "agent/cli/command.hpp"
#include "agent/cli/output.hpp"
#include "agent/cli/tables.hpp"
#include "agent/core/inventory_json.hpp"

namespace vgpu::cli {

namespace {

int list_profiles(const CommonOptions& options) {
    const auto session = Session::open(options, Session::Purpose::look);
    if (!session) {
        return report(session.error());
    }
    const auto inventory = (*session)->inventory();
    if (!inventory) {
        return report(inventory.error());
    }
    const auto profiles = profiles_of(*inventory);
    return print(options.json ? profiles_json(profiles) : profiles_text(profiles, wants_colour()));
}

} // namespace

void add_profiles(CLI::App& app, Program& program) {
    CLI::App* command =
        add_command(app, program, "profiles",
                    "List the vGPU profiles of the managed GPUs.\n"
                    "AVAILABLE: how many more vGPUs of this profile could be started now, if only "
                    "this one is started.\n"
                    "Per GPU it is the smaller of two: the free devices that offer the profile "
                    "(dirty ones that nobody\n"
                    "holds count, a start cleans them), and the framebuffer that is left, divided "
                    "by the profile's. In\n"
                    "equal-size mode a GPU takes one framebuffer size at a time, so the numbers of "
                    "different profiles\n"
                    "do not add up. With mixed sizes, and for MIG-backed profiles, the number is "
                    "an upper bound.\n"
                    "A profile that was seen before and cannot be created now is listed with 0.");
    command->callback(
        [&program] { program.run = [&program] { return list_profiles(program.options); }; });
}

} // namespace vgpu::cli
