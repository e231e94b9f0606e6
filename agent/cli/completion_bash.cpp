#include "agent/cli/completion.hpp"

#include <fmt/format.h>

namespace vgpu::cli {

namespace {

/// Needs nothing of the bash-completion package. Keys of the tables: a command's path; for values
/// the path and an option, or the number of an argument.
constexpr const char* script =
    R"bash(# bash completion for virt-vgpu, made by `virt-vgpu completion bash`
declare -gA _virt_vgpu_commands=(
@COMMANDS@)
declare -gA _virt_vgpu_options=(
@OPTIONS@)
declare -gA _virt_vgpu_values=(
@VALUES@)

_virt_vgpu_names() { # those on stdin that begin with the word, as they have to be typed
    local name
    while IFS= read -r name; do
        [[ -n $name && $name == "$1"* ]] && printf '%q\n' "$name"
    done
}

_virt_vgpu_offer() { # a kind of value, and what has been typed of it
    local kind=$1 typed=$2
    case $kind in
    '') COMPREPLY=() ;;
    file) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$typed") ;;
    domain) mapfile -t COMPREPLY < <(@DOMAINS@ | _virt_vgpu_names "$typed") ;;
    instance) mapfile -t COMPREPLY < <(@INSTANCES@ | _virt_vgpu_names "$typed") ;;
    *) mapfile -t COMPREPLY < <(compgen -W "$kind" -- "$typed") ;;
    esac
}

_virt_vgpu() {
    local typed=${COMP_WORDS[COMP_CWORD]} command=virt-vgpu number=0 at=1 word
    COMPREPLY=()
    while ((at < COMP_CWORD)); do
        word=${COMP_WORDS[at]}
        if [[ $word == -* ]]; then
            if [[ ${_virt_vgpu_values["$command $word"]+x} ]]; then
                # bash makes three words of --option=value.
                [[ $typed == = ]] && ((at + 1 == COMP_CWORD)) && typed=''
                ((at + 1 < COMP_CWORD)) && [[ ${COMP_WORDS[at + 1]} == = ]] && ((++at))
                if ((at + 1 >= COMP_CWORD)); then
                    _virt_vgpu_offer "${_virt_vgpu_values["$command $word"]}" "$typed"
                    return
                fi
                ((++at))
            fi
        elif [[ ${_virt_vgpu_commands["$command/$word"]+x} ]]; then
            command+=/$word
        else
            ((++number))
        fi
        ((++at))
    done
    if [[ $typed == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "${_virt_vgpu_options["$command"]}" -- "$typed")
    elif ((number == 0)) && [[ ${_virt_vgpu_commands["$command"]} ]]; then
        mapfile -t COMPREPLY < <(compgen -W "${_virt_vgpu_commands["$command"]}" -- "$typed")
    else
        _virt_vgpu_offer "${_virt_vgpu_values["$command $number"]-}" "$typed"
    fi
}

complete -F _virt_vgpu virt-vgpu
)bash";

std::string entry(const std::string& key, const std::string& value) {
    return fmt::format("    [{}]={}\n", shell_quoted(key), shell_quoted(value));
}

std::string commands_entry(const CompletedCommand& command) {
    std::vector<std::string> names;
    for (const CompletedCommand& below : command.commands) {
        names.push_back(below.path.back());
    }
    return entry(command.key(), fmt::format("{}", fmt::join(names, " ")));
}

std::string options_entry(const CompletedCommand& command) {
    std::vector<std::string> spellings;
    for (const CompletedOption& option : command.options) {
        spellings.insert(spellings.end(), option.spellings.begin(), option.spellings.end());
    }
    return entry(command.key(), fmt::format("{}", fmt::join(spellings, " ")));
}

std::string values_entries(const CompletedCommand& command) {
    std::string text;
    for (const CompletedOption& option : command.options) {
        for (const std::string& spelling : option.spellings) {
            text += option.takes_value
                        ? entry(command.key() + " " + spelling, kind_word(option.value))
                        : "";
        }
    }
    for (std::size_t i = 0; i < command.positionals.size(); ++i) {
        text += entry(fmt::format("{} {}", command.key(), i), kind_word(command.positionals[i]));
    }
    return text;
}

} // namespace

std::string bash_completion(const CompletedCommand& program) {
    std::string commands;
    std::string options;
    std::string values;
    for (const CompletedCommand* command : with_all_below(program)) {
        commands += commands_entry(*command);
        options += options_entry(*command);
        values += values_entries(*command);
    }
    return filled(script, {{"@COMMANDS@", commands},
                           {"@OPTIONS@", options},
                           {"@VALUES@", values},
                           {"@DOMAINS@", list_domains_command},
                           {"@INSTANCES@", list_instances_command}});
}

} // namespace vgpu::cli
