#include "agent/core/config_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace vgpu {

namespace {

constexpr std::size_t largest_text = std::size_t{1024} * 1024;

using namespace std::chrono_literals;

using Read = ReadOutcome (*)(const toml::node&, Config&);

struct Key {
    std::string_view table;
    std::string_view name;
    Read read;
};

using Node = const toml::node;

constexpr std::array keys{
    Key{"paths", "sysfs", [](Node& n, Config& c) { return read_path(n, c.paths.sysfs); }},
    Key{"paths", "proc", [](Node& n, Config& c) { return read_path(n, c.paths.proc); }},
    Key{"paths", "dev", [](Node& n, Config& c) { return read_path(n, c.paths.dev); }},
    Key{"paths", "libvirt_run",
        [](Node& n, Config& c) { return read_path(n, c.paths.libvirt_run); }},
    Key{"paths", "state", [](Node& n, Config& c) { return read_path(n, c.paths.state); }},
    Key{"paths", "runtime", [](Node& n, Config& c) { return read_path(n, c.paths.runtime); }},
    Key{"gpus", "managed", [](Node& n, Config& c) { return read_managed(n, c.gpus); }},
    Key{"gpus", "ignored", [](Node& n, Config& c) { return read_ignored(n, c.gpus); }},
    Key{"hook", "deadline",
        [](Node& n, Config& c) { return read_duration(n, c.hook.deadline, 10min); }},
    // libvirt cleans up all domains of a host in one thread, which waits for each hook in turn.
    Key{"hook", "release_budget",
        [](Node& n, Config& c) { return read_duration(n, c.hook.release_budget, 30s); }},
    Key{"mdev", "self_removal",
        [](Node& n, Config& c) { return read_self_removal(n, c.mdev.self_removal); }},
    Key{"libvirt", "uri", [](Node& n, Config& c) { return read_uri(n, c.libvirt.uri); }},
    Key{"libvirt", "rebind", [](Node& n, Config& c) { return read_bool(n, c.libvirt.rebind); }},
    Key{"api", "group", [](Node& n, Config& c) { return read_group(n, c.api.group); }},
    Key{"reconcile", "interval",
        [](Node& n, Config& c) { return read_duration(n, c.reconcile.interval); }},
};

void append(std::string& list, std::string_view name) {
    list += (list.empty() ? "" : ", ") + std::string(name);
}

/// The keys of a table, or the tables, as "a, b, c".
std::string known_keys(std::string_view table) {
    std::string list;
    for (const Key& key : keys) {
        if (key.table == table) {
            append(list, key.name);
        }
    }
    return list;
}

std::string known_tables() {
    std::string list;
    std::string_view last;
    for (const Key& key : keys) {
        if (key.table != last) {
            append(list, key.table);
        }
        last = key.table;
    }
    return list;
}

/// Reads all keys, and keeps the problem that comes first in the file.
class Reader {
public:
    Config config;
    ReadOutcome first;

    void read(const toml::table& root) {
        for (const auto& [name, node] : root) {
            const toml::table* table = node.as_table();
            if (known_keys(name.str()).empty()) {
                note({name.source().begin.line, unknown(name.str(), table != nullptr)});
            } else if (table == nullptr) {
                note({name.source().begin.line,
                      fmt::format("`{0}` is a table: write [{0}]", name.str())});
            } else {
                read_table(name.str(), *table);
            }
        }
    }

private:
    static std::string unknown(std::string_view name, bool is_table) {
        return fmt::format("unknown {} `{}`; known tables: {}", is_table ? "table" : "key",
                           printable(name, 60), known_tables());
    }

    void read_table(std::string_view table, const toml::table& entries) {
        for (const auto& [name, node] : entries) {
            const std::string_view wanted = name.str();
            const auto* key = std::find_if(keys.begin(), keys.end(), [&](const Key& candidate) {
                return candidate.table == table && candidate.name == wanted;
            });
            if (key == keys.end()) {
                note({name.source().begin.line,
                      fmt::format("unknown key `{}.{}`; known keys there: {}", table,
                                  printable(wanted, 60), known_keys(table))});
            } else if (auto outcome = key->read(node, config)) {
                outcome->text = fmt::format("`{}.{}`: {}", table, wanted, outcome->text);
                note(*std::move(outcome));
            }
        }
    }

    void note(TextProblem found) {
        if (!first || found.line < first->line) {
            first = std::move(found);
        }
    }
};

tl::unexpected<Error> at(std::string_view file, const TextProblem& found) {
    return fail(ErrorCode::invalid, fmt::format("{}:{}: {}", file, found.line, found.text));
}

} // namespace

Result<Config> parse_config(std::string_view text, std::string_view file) {
    if (text.size() > largest_text) {
        return fail(ErrorCode::invalid,
                    fmt::format("{}: larger than {} bytes", file, largest_text));
    }
    if (const auto found = find_toml_hazard(text)) {
        return at(file, *found);
    }
    const toml::parse_result parsed = toml::parse(text, std::string_view());
    if (!parsed) {
        return at(file,
                  {parsed.error().source().begin.line, std::string(parsed.error().description())});
    }
    Reader reader;
    reader.read(parsed.table());
    if (reader.first) {
        return at(file, *reader.first);
    }
    return std::move(reader.config);
}

} // namespace vgpu
