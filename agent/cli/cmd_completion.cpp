#include "agent/cli/command.hpp"
#include "agent/cli/completion.hpp"
#include "agent/cli/output.hpp"

#include <memory>

namespace vgpu::cli {

namespace {

constexpr const char* details =
    R"(Made from the commands and options of this very program. An installation has the scripts where the
shells look for them; by hand: source <(virt-vgpu completion bash).)";

int print_completion(const CLI::App& app, const std::string& shell) {
    const CompletedCommand program = completed_commands(app);
    if (shell == "bash") {
        return print(bash_completion(program));
    }
    return print(shell == "zsh" ? zsh_completion(program) : fish_completion(program));
}

} // namespace

void add_completion(CLI::App& app, Program& program) {
    CLI::App* command = app.add_subcommand("completion", "Print a completion script for a shell");
    command->footer(details);
    const auto shell = std::make_shared<std::string>();
    command->add_option("SHELL", *shell, "The shell")
        ->required()
        ->check(CLI::IsMember({"bash", "zsh", "fish"}));
    command->callback([&app, &program, shell] {
        program.run = [&app, shell] { return print_completion(app, *shell); };
    });
}

} // namespace vgpu::cli
