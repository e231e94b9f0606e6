#include "agent/cli/completion.hpp"

#include <fmt/format.h>

namespace vgpu::cli {

namespace {

/// The same walk over the words as in bash; here a value may be in one word with its option.
constexpr const char* script = R"zsh(#compdef virt-vgpu
# zsh completion for virt-vgpu, made by `virt-vgpu completion zsh`
typeset -gA _virt_vgpu_values=(
@VALUES@)

_virt_vgpu_describe() { # what there is after a command: arrays `commands` and `options` of the caller
    case $1 in
@COMMANDS@    esac
}

_virt_vgpu_offer() { # a kind of value
    local -a names
    case $1 in
    '') return 1 ;;
    file) _files ;;
    domain) names=(${(f)"$(@DOMAINS@)"}); compadd -a names ;;
    instance) names=(${(f)"$(@INSTANCES@)"}); compadd -a names ;;
    *) compadd -- ${=1} ;;
    esac
}

_virt_vgpu() {
    local command=virt-vgpu word
    local -i at=2 number=0
    local -a commands options
    _virt_vgpu_describe $command
    while ((at < CURRENT)); do
        word=$words[at]
        if [[ $word == --*=* ]]; then
            :
        elif [[ $word == -* ]]; then
            if ((${+_virt_vgpu_values[$command $word]})); then
                if ((at + 1 == CURRENT)); then
                    _virt_vgpu_offer "$_virt_vgpu_values[$command $word]"
                    return
                fi
                ((++at))
            fi
        elif ((${commands[(I)$word:*]})); then
            command+=/$word
            commands=() options=()
            _virt_vgpu_describe $command
        else
            ((++number))
        fi
        ((++at))
    done
    if [[ $PREFIX == --*=* ]]; then
        word=${PREFIX%%=*}
        compset -P '*='
        _virt_vgpu_offer "$_virt_vgpu_values[$command $word]"
    elif [[ $PREFIX == -* ]]; then
        _describe -o option options
    elif ((number == 0 && ${#commands})); then
        _describe command commands
    else
        _virt_vgpu_offer "$_virt_vgpu_values[$command $number]"
    fi
}

if [[ $funcstack[1] == _virt-vgpu ]]; then
    _virt_vgpu "$@"
else
    compdef _virt_vgpu virt-vgpu
fi
)zsh";

std::string described(const std::string& name, const std::string& help) {
    return " " + shell_quoted(name + ":" + help);
}

std::string command_case(const CompletedCommand& command) {
    std::string commands;
    for (const CompletedCommand& below : command.commands) {
        commands += described(below.path.back(), below.help);
    }
    std::string options;
    for (const CompletedOption& option : command.options) {
        for (const std::string& spelling : option.spellings) {
            options += described(spelling, option.help);
        }
    }
    return fmt::format("    {})\n        commands=({} )\n        options=({} )\n        ;;\n",
                       command.key(), commands, options);
}

std::string value_entry(const std::string& key, const CompletedValue& value) {
    return fmt::format("    {} {}\n", shell_quoted(key), shell_quoted(kind_word(value)));
}

std::string value_entries(const CompletedCommand& command) {
    std::string text;
    for (const CompletedOption& option : command.options) {
        for (const std::string& spelling : option.spellings) {
            text +=
                option.takes_value ? value_entry(command.key() + " " + spelling, option.value) : "";
        }
    }
    for (std::size_t i = 0; i < command.positionals.size(); ++i) {
        text += value_entry(fmt::format("{} {}", command.key(), i), command.positionals[i]);
    }
    return text;
}

} // namespace

std::string zsh_completion(const CompletedCommand& program) {
    std::string commands;
    std::string values;
    for (const CompletedCommand* command : with_all_below(program)) {
        commands += command_case(*command);
        values += value_entries(*command);
    }
    return filled(script, {{"@VALUES@", values},
                           {"@COMMANDS@", commands},
                           {"@DOMAINS@", list_domains_command},
                           {"@INSTANCES@", list_instances_command}});
}

} // namespace vgpu::cli
