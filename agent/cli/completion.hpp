#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <utility>
#include <vector>

namespace vgpu::cli {

/// What may stand in an argument's place, as far as a shell can help.
enum class ValueKind {
    anything,
    file,
    domain,   ///< the name of a domain that libvirt has
    instance, ///< the name of one that asks for a vGPU
    choice,   ///< one of `choices`
};

struct CompletedValue {
    ValueKind kind = ValueKind::anything;
    std::vector<std::string> choices;
};

struct CompletedOption {
    std::vector<std::string> spellings; ///< "--follow", "-f"
    std::string help;
    bool takes_value = false;
    CompletedValue value;
};

/// A command, or the program itself, with what can be typed after it.
struct CompletedCommand {
    std::vector<std::string> path; ///< {"config", "check"}; empty: the program
    std::string help;
    std::vector<CompletedOption> options;
    std::vector<CompletedValue> positionals;
    std::vector<CompletedCommand> commands;

    /// "virt-vgpu/config/check": what the scripts' tables are keyed by.
    [[nodiscard]] std::string key() const;
};

/// The commands and options as they are, so that scripts made from them cannot go stale. Hidden
/// ones are left out.
[[nodiscard]] CompletedCommand completed_commands(const CLI::App& app);

/// A completion script for the program called virt-vgpu.
[[nodiscard]] std::string bash_completion(const CompletedCommand& program);
[[nodiscard]] std::string zsh_completion(const CompletedCommand& program);
[[nodiscard]] std::string fish_completion(const CompletedCommand& program);

/// Shell text: commands that print names, one a line, and nothing when they cannot. They end soon:
/// somebody waits with a finger on the tabulator.
inline constexpr const char* list_domains_command =
    "timeout 2 virsh -q -c qemu:///system list --all --name 2>/dev/null";
inline constexpr const char* list_instances_command =
    "timeout 2 virt-vgpu instances --names 2>/dev/null";

/// `template_text` with the text of each pair's second in place of its first.
[[nodiscard]] std::string filled(std::string template_text,
                                 const std::vector<std::pair<std::string, std::string>>& marks);

/// "file", "domain", "instance", the choices, or nothing: one word for each ValueKind.
[[nodiscard]] std::string kind_word(const CompletedValue& value);

/// `command`, and all commands below it.
[[nodiscard]] std::vector<const CompletedCommand*> with_all_below(const CompletedCommand& command);

/// The text between single quotes, as POSIX shells and zsh read it.
[[nodiscard]] std::string shell_quoted(const std::string& text);

} // namespace vgpu::cli
