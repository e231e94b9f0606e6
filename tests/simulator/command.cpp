#include "tests/simulator/command.hpp"

#include "tests/simulator/parse.hpp"
#include "tests/simulator/trees.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

namespace vgpu::simulator {

namespace {

char unescaped(char c) {
    switch (c) {
    case 'n':
        return '\n';
    case 't':
        return '\t';
    case '0':
        return '\0';
    default:
        return c;
    }
}

const std::vector<Command>& all_commands() {
    static const auto commands = [] {
        auto all = host_commands();
        for (auto&& more : {card_commands(), device_commands(), process_commands()}) {
            all.insert(all.end(), more.begin(), more.end());
        }
        return all;
    }();
    return commands;
}

/// The state as text when read; one command per write. What was wrong with the last refused one is
/// in the text.
int write_control(Host& host, std::string_view text) {
    host.last_error.clear();
    if (const auto done = execute(host, text); !done) {
        host.last_error = done.error();
        return EINVAL;
    }
    host.waiters.wake_all();
    return 0;
}

} // namespace

tl::expected<Words, std::string> split_words(std::string_view line) {
    Words words;
    bool in_word = false;
    bool quoted = false;
    for (std::size_t i = 0; i < line.size(); ++i) {
        const char c = line[i];
        if (!quoted && (c == ' ' || c == '\t' || c == '\n' || c == '\r')) {
            in_word = false;
            continue;
        }
        if (!in_word && c == '#') {
            break;
        }
        if (!in_word) {
            words.emplace_back();
            in_word = true;
        }
        if (c == '"') {
            quoted = !quoted;
        } else if (c == '\\' && i + 1 < line.size()) {
            words.back() += unescaped(line[++i]);
        } else {
            words.back() += c;
        }
    }
    if (quoted) {
        return refused("a quotation mark is not closed");
    }
    return words;
}

tl::unexpected<std::string> Arguments::misuse(std::string reason) {
    misused_ = true;
    return refused(std::move(reason));
}

tl::expected<std::string, std::string> Arguments::next(std::string_view what) {
    if (position_ == words_.size()) {
        return misuse(fmt::format("{} is missing", what));
    }
    return words_[position_++];
}

std::optional<std::string> Arguments::maybe() {
    return position_ == words_.size() ? std::nullopt : std::optional(words_[position_++]);
}

std::optional<std::uint64_t> parse_number(std::string_view text) {
    const int base = text.starts_with("0x") ? 16 : 10;
    text.remove_prefix(base == 16 ? 2 : 0);
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (error != std::errc{} || end != text.data() + text.size()) {
        return std::nullopt;
    }
    return value;
}

tl::expected<std::uint64_t, std::string> Arguments::number(std::string_view what) {
    SIMULATOR_TRY(const auto word, next(what));
    const auto value = parse_number(word);
    if (!value) {
        return misuse(fmt::format("{} is no number: '{}'", what, word));
    }
    return *value;
}

tl::expected<std::uint64_t, std::string> Arguments::amount(std::string_view what) {
    if (position_ < words_.size() && words_[position_] == "always") {
        ++position_;
        return Fault::always;
    }
    return number(what);
}

tl::expected<std::uint64_t, std::string> Arguments::count(std::uint64_t fallback) {
    return position_ == words_.size() ? fallback : amount("the count");
}

tl::expected<bool, std::string> Arguments::on_off(std::string_view what) {
    SIMULATOR_TRY(const auto word, next(what));
    if (word != "on" && word != "off") {
        return misuse(fmt::format("{} is 'on' or 'off', not '{}'", what, word));
    }
    return word == "on";
}

tl::expected<std::map<std::string, std::string>, std::string> Arguments::pairs() {
    std::map<std::string, std::string> pairs;
    while (position_ < words_.size()) {
        const auto& word = words_[position_++];
        const auto equals = word.find('=');
        if (equals == std::string::npos) {
            return misuse(fmt::format("expected key=value, not '{}'", word));
        }
        pairs[word.substr(0, equals)] = word.substr(equals + 1);
    }
    return pairs;
}

Done Arguments::end() {
    return position_ == words_.size() ? ok()
                                      : misuse(fmt::format("too much: '{}'", words_[position_]));
}

tl::expected<std::shared_ptr<Device>, std::string> device_named(Host& host,
                                                                const std::string& name) {
    auto device = host.inventory.find(name);
    if (!device) {
        return refused(fmt::format("there is no device '{}'", name));
    }
    return device;
}

tl::expected<std::shared_ptr<Gpu>, std::string> gpu_named(Host& host, const std::string& name) {
    const auto found = host.inventory.gpus().find(name);
    if (found == host.inventory.gpus().end()) {
        return refused(fmt::format("there is no GPU '{}'", name));
    }
    return found->second;
}

Done execute(Host& host, std::string_view line) {
    SIMULATOR_TRY(auto words, split_words(line));
    if (words.empty()) {
        return ok();
    }
    const auto command = std::ranges::find(all_commands(), words.front(), &Command::name);
    if (command == all_commands().end()) {
        return refused(fmt::format("there is no command '{}'", words.front()));
    }
    words.erase(words.begin());
    Arguments arguments(std::move(words));
    if (const auto done = command->run(host, arguments); !done) {
        return refused(done.error() +
                       (arguments.misused()
                            ? fmt::format(" (usage: {} {})", command->name, command->usage)
                            : ""));
    }
    return ok();
}

Done execute_file(Host& host, std::string_view text) {
    for (std::size_t number = 1; !text.empty(); ++number) {
        const auto end = std::min(text.find('\n'), text.size());
        if (auto done = execute(host, text.substr(0, end)); !done) {
            return refused(fmt::format("line {}: {}", number, done.error()));
        }
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return ok();
}

std::string command_help() {
    std::string text;
    for (const auto& command : all_commands()) {
        text += fmt::format("  {} {}\n", command.name, command.usage);
    }
    return text;
}

Node control_file(Host& host) {
    return writable([&host]() -> Text { return report(host); },
                    [&host](Call&, std::string_view text) { return write_control(host, text); });
}

} // namespace vgpu::simulator
