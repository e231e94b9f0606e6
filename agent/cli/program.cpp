#include "agent/cli/command.hpp"
#include "agent/cli/output.hpp"

#include <initializer_list>

namespace vgpu::cli {

namespace {

constexpr const char* about = "Lists, assigns and frees the NVIDIA vGPUs of a libvirt host.\n"
                              "libvirt's hook, virt-vgpu-hook, does the work when a domain starts "
                              "and stops; this program shows\n"
                              "its state and writes the requests into domains. See virt-vgpu(1).";

constexpr const char* epilogue =
    "Exit codes: 0 done, 1 refused or failed, 2 usage.\n"
    "Configuration: --config FILE, else $VIRT_VGPU_CONFIG, else /etc/virt-vgpu/virt-vgpu.toml.";

template <typename Parse>
CLI::Validator check_with(const std::string& name, Parse parse) {
    return CLI::Validator(
        [parse](const std::string& text) {
            const auto parsed = parse(text);
            return parsed ? std::string() : parsed.error().text();
        },
        name, name);
}

/// Commands of one kind stand together in --help.
void add_group(CLI::App& app, Program& program, const std::string& title,
               std::initializer_list<void (*)(CLI::App&, Program&)> adders) {
    for (const auto add : adders) {
        add(app, program);
    }
    for (CLI::App* command : app.get_subcommands({})) {
        if (command->get_group() == "Subcommands") {
            command->group(title);
        }
    }
}

} // namespace

void add_config_option(CLI::App& app, Program& program) {
    app.add_option("--config", program.options.config, "Configuration file to use")
        ->type_name("FILE");
}

CLI::App* add_command(CLI::App& parent, Program& program, const std::string& name,
                      const std::string& brief, const std::string& details) {
    CLI::App* command = parent.add_subcommand(name, brief);
    command->footer(details);
    command->add_flag("--json", program.options.json, "Print JSON, for programs");
    add_config_option(*command, program);
    return command;
}

int print_inventory(const CommonOptions& options,
                    const std::function<std::string(const Inventory&)>& text) {
    const auto session = open_session(options, HostSession::Purpose::look);
    if (!session) {
        return report(session.error());
    }
    const auto inventory = look_with_warnings(**session);
    return inventory ? print(text(*inventory)) : report(inventory.error());
}

CLI::Validator device_argument() {
    return check_with("DEVICE",
                      [](const std::string& text) { return DeviceKey::parse_device(text); });
}

CLI::Validator pci_argument() {
    return check_with("PCI-ADDRESS",
                      [](const std::string& text) { return PciAddress::parse(text); });
}

CLI::Validator uuid_argument() {
    return check_with("UUID", [](const std::string& text) { return Uuid::parse(text); });
}

CLI::Validator not_empty() {
    return CLI::Validator(
        [](const std::string& text) {
            return text.empty() ? std::string("it is empty") : std::string();
        },
        "");
}

void add_domain_argument(CLI::App& command, std::string& domain) {
    command.add_option("DOMAIN", domain, "Name or UUID of the domain")
        ->required()
        ->check(not_empty());
}

void add_instance_argument(CLI::App& command, std::string& instance) {
    command.add_option("INSTANCE", instance, "Name or UUID of the domain")
        ->required()
        ->check(not_empty());
}

CLI::Option* add_name_argument(CLI::App& command, const std::string& name, std::string& value) {
    return command.add_option(name, value, "Name of the new domain")->check(not_empty());
}

void add_commands(CLI::App& app, Program& program) {
    add_group(app, program, "The host",
              {add_gpus, add_devices, add_profiles, add_claims, add_top, add_doctor});
    add_group(app, program, "Definitions and claims, by hand",
              {add_assign, add_unassign, add_release, add_reconcile});
    add_group(app, program, "Domains with vGPUs, through virt-vgpud",
              {add_create, add_start, add_stop, add_reboot, add_delete, add_fork, add_instances,
               add_instance, add_operations, add_events});
    add_group(app, program, "Helpers", {add_config, add_xml, add_completion});
}

int run_program(int count, char** arguments) {
    Program program;
    CLI::App app(about, "virt-vgpu");
    app.set_version_flag("--version", "virt-vgpu " VGPU_VERSION);
    app.footer(epilogue);
    add_config_option(app, program);
    add_commands(app, program);
    try {
        app.parse(count, arguments);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? exit_done : exit_usage;
    }
    if (!program.run) {
        complain("a command is needed; see `virt-vgpu --help`");
        return exit_usage;
    }
    return program.run();
}

} // namespace vgpu::cli
