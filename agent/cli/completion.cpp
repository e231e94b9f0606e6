#include "agent/cli/completion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace vgpu::cli {

namespace {

/// The words of "TEXT:{a,b}", which is how CLI11 shows CLI::IsMember; empty if it is none.
std::vector<std::string> choices_of(const std::string& type) {
    std::vector<std::string> choices;
    const std::size_t open = type.find('{');
    const std::size_t close = type.find('}', open);
    if (open == std::string::npos || close == std::string::npos) {
        return choices;
    }
    for (std::size_t at = open + 1; at < close;) {
        const std::size_t end = std::min(type.find(',', at), close);
        choices.push_back(type.substr(at, end - at));
        at = end + 1;
    }
    return choices;
}

CompletedValue value_of(const CLI::Option& option, const std::string& name) {
    const std::string type = option.get_type_name();
    CompletedValue value;
    value.choices = choices_of(type);
    if (!value.choices.empty()) {
        value.kind = ValueKind::choice;
    } else if (name == "DOMAIN") {
        value.kind = ValueKind::domain;
    } else if (name == "INSTANCE") {
        value.kind = ValueKind::instance;
    } else if (name == "FILE" || type.starts_with("FILE") || type.starts_with("DIR")) {
        value.kind = ValueKind::file;
    }
    return value;
}

CompletedOption option_of(const CLI::Option& option) {
    CompletedOption completed;
    for (const std::string& name : option.get_lnames()) {
        completed.spellings.push_back("--" + name);
    }
    for (const std::string& name : option.get_snames()) {
        completed.spellings.push_back("-" + name);
    }
    completed.help = option.get_description();
    completed.takes_value = option.get_items_expected_max() > 0;
    completed.value = value_of(option, "");
    return completed;
}

CompletedCommand command_of(const CLI::App& app, std::vector<std::string> path) {
    CompletedCommand command;
    command.path = std::move(path);
    command.help = app.get_description();
    for (const CLI::Option* option : app.get_options()) {
        if (option->get_positional()) {
            command.positionals.push_back(value_of(*option, option->get_name(true)));
        }
        if (option->nonpositional() && !option->get_group().empty()) {
            command.options.push_back(option_of(*option));
        }
    }
    for (const CLI::App* below : app.get_subcommands({})) {
        if (below->get_group().empty()) {
            continue;
        }
        auto path_below = command.path;
        path_below.push_back(below->get_name());
        command.commands.push_back(command_of(*below, std::move(path_below)));
    }
    return command;
}

} // namespace

std::string CompletedCommand::key() const {
    return path.empty() ? "virt-vgpu" : fmt::format("virt-vgpu/{}", fmt::join(path, "/"));
}

CompletedCommand completed_commands(const CLI::App& app) {
    return command_of(app, {});
}

std::vector<const CompletedCommand*> with_all_below(const CompletedCommand& command) {
    std::vector<const CompletedCommand*> all{&command};
    for (const CompletedCommand& below : command.commands) {
        const auto more = with_all_below(below);
        all.insert(all.end(), more.begin(), more.end());
    }
    return all;
}

std::string kind_word(const CompletedValue& value) {
    switch (value.kind) {
    case ValueKind::file:
        return "file";
    case ValueKind::domain:
        return "domain";
    case ValueKind::instance:
        return "instance";
    case ValueKind::choice:
        return fmt::format("{}", fmt::join(value.choices, " "));
    case ValueKind::anything:
        break;
    }
    return "";
}

std::string filled(std::string template_text,
                   const std::vector<std::pair<std::string, std::string>>& marks) {
    for (const auto& [mark, text] : marks) {
        template_text.replace(template_text.find(mark), mark.size(), text);
    }
    return template_text;
}

std::string shell_quoted(const std::string& text) {
    std::string quoted = "'";
    for (const char c : text) {
        quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    }
    return quoted + "'";
}

} // namespace vgpu::cli
