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

/// Reads the arguments and carries out what they ask for. Returns the exit code.
[[nodiscard]] int run_program(int count, char** arguments);

} // namespace vgpu::cli
