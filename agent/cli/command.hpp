#pragma once

#include "agent/cli/session.hpp"

#include <CLI/CLI.hpp>

#include <functional>
#include <string>

namespace vgpu::cli {

/// The program while its arguments are read: each command registers itself and, when it was named,
/// sets `run`.
struct Program {
    CommonOptions options;
    std::function<int()> run;
};

/// A command with the options that all have. `brief` is a line in its parent's help, `details`
/// follow the options in its own.
CLI::App* add_command(CLI::App& parent, Program& program, const std::string& name,
                      const std::string& brief, const std::string& details);
/// --config, for commands and for the program itself.
void add_config_option(CLI::App& app, Program& program);

/// Looks at the host and prints what `text` makes of it. Returns the exit code.
[[nodiscard]] int print_inventory(const CommonOptions& options,
                                  const std::function<std::string(const Inventory&)>& text);

/// Checks of arguments, so that a malformed one is a usage error.
[[nodiscard]] CLI::Validator device_argument();
[[nodiscard]] CLI::Validator pci_argument();
[[nodiscard]] CLI::Validator uuid_argument();
[[nodiscard]] CLI::Validator not_empty();

/// The argument that names a domain that is there, by name or UUID; it must be given. An instance
/// is one that asks for a vGPU.
void add_domain_argument(CLI::App& command, std::string& domain);
void add_instance_argument(CLI::App& command, std::string& instance);
/// The argument `name` for a domain that is to be made.
CLI::Option* add_name_argument(CLI::App& command, const std::string& name, std::string& value);

void add_gpus(CLI::App& app, Program& program);
void add_devices(CLI::App& app, Program& program);
void add_profiles(CLI::App& app, Program& program);
void add_claims(CLI::App& app, Program& program);
void add_doctor(CLI::App& app, Program& program);
void add_reconcile(CLI::App& app, Program& program);
void add_release(CLI::App& app, Program& program);
void add_assign(CLI::App& app, Program& program);
void add_unassign(CLI::App& app, Program& program);
void add_config(CLI::App& app, Program& program);
void add_xml(CLI::App& app, Program& program);
void add_create(CLI::App& app, Program& program);
void add_start(CLI::App& app, Program& program);
void add_stop(CLI::App& app, Program& program);
void add_reboot(CLI::App& app, Program& program);
void add_delete(CLI::App& app, Program& program);
void add_fork(CLI::App& app, Program& program);
void add_instances(CLI::App& app, Program& program);
void add_instance(CLI::App& app, Program& program);
void add_operations(CLI::App& app, Program& program);
void add_events(CLI::App& app, Program& program);
void add_top(CLI::App& app, Program& program);
void add_completion(CLI::App& app, Program& program);

/// All of them.
void add_commands(CLI::App& app, Program& program);

/// Reads the arguments and carries out what they ask for. Returns the exit code.
[[nodiscard]] int run_program(int count, char** arguments);

} // namespace vgpu::cli
