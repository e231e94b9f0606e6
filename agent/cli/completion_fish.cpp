#include "agent/cli/completion.hpp"

#include <fmt/format.h>

namespace vgpu::cli {

namespace {

constexpr const char* script =
    R"fish(# fish completion for virt-vgpu, made by `virt-vgpu completion fish`
set -g __virt_vgpu_commands @COMMANDS@

function __virt_vgpu_at -d 'Whether this is the command that has been typed'
    set -l path virt-vgpu
    set -l skip no
    for word in (commandline -opc)[2..-1]
        if test $skip = yes
            set skip no
        else if test "$word" = --config
            set skip yes
        else if contains -- $path/$word $__virt_vgpu_commands
            set path $path/$word
        end
    end
    test $path = $argv[1]
end

complete -c virt-vgpu -f
@COMPLETIONS@)fish";

/// Unlike in other shells a backslash may quote within single quotes.
std::string fish_quoted(const std::string& text) {
    std::string quoted = "'";
    for (const char c : text) {
        quoted += c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
    }
    return quoted + "'";
}

/// The options of `complete` that offer a value.
std::string value_arguments(const CompletedValue& value) {
    switch (value.kind) {
    case ValueKind::file:
        return " -F";
    case ValueKind::domain:
        return fmt::format(" -a '({})'", list_domains_command);
    case ValueKind::instance:
        return fmt::format(" -a '({})'", list_instances_command);
    case ValueKind::choice:
        return fmt::format(" -a {}", fish_quoted(kind_word(value)));
    case ValueKind::anything:
        break;
    }
    return "";
}

std::string line(const CompletedCommand& command, const std::string& arguments) {
    return fmt::format("complete -c virt-vgpu -n '__virt_vgpu_at {}'{}\n", command.key(),
                       arguments);
}

std::string option_arguments(const CompletedOption& option) {
    std::string text;
    for (const std::string& spelling : option.spellings) {
        text +=
            spelling.starts_with("--") ? " -l " + spelling.substr(2) : " -s " + spelling.substr(1);
    }
    if (option.takes_value) {
        text += option.value.kind == ValueKind::file ? " -r" : " -x";
        text += value_arguments(option.value);
    }
    return text + " -d " + fish_quoted(option.help);
}

std::string lines_of(const CompletedCommand& command) {
    std::string text;
    for (const CompletedCommand& below : command.commands) {
        text +=
            line(command, fmt::format(" -a {} -d {}", below.path.back(), fish_quoted(below.help)));
    }
    for (const CompletedOption& option : command.options) {
        text += line(command, option_arguments(option));
    }
    for (const CompletedValue& value : command.positionals) {
        const std::string arguments = value_arguments(value);
        text += arguments.empty() ? "" : line(command, arguments);
    }
    return text;
}

} // namespace

std::string fish_completion(const CompletedCommand& program) {
    std::vector<std::string> keys;
    std::string lines;
    for (const CompletedCommand* command : with_all_below(program)) {
        keys.push_back(command->key());
        lines += lines_of(*command);
    }
    return filled(script, {{"@COMMANDS@", fmt::format("{}", fmt::join(keys, " "))},
                           {"@COMPLETIONS@", lines}});
}

} // namespace vgpu::cli
