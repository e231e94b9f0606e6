#include "agent/core/config_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>
#include <vector>

namespace vgpu {

namespace {

constexpr std::size_t longest_string = 1024;

using std::chrono::milliseconds;
using namespace std::chrono_literals;

unsigned line_of(const toml::node& node) {
    return node.source().begin.line;
}

ReadOutcome problem(const toml::node& node, std::string text) {
    return TextProblem{line_of(node), std::move(text)};
}

bool has_control(std::string_view text) {
    return std::any_of(text.begin(), text.end(),
                       [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

/// A string of sane length without control characters, or nullptr and `outcome`.
const std::string* plain_string(const toml::node& node, std::string_view what,
                                ReadOutcome& outcome) {
    const auto* value = node.as_string();
    if (value == nullptr) {
        outcome = problem(node, fmt::format("expected {} in quotes", what));
        return nullptr;
    }
    if ((*value)->size() > longest_string || has_control(value->get())) {
        outcome = problem(node, fmt::format("{} of more than {} bytes or with control characters",
                                            what, longest_string));
        return nullptr;
    }
    return &value->get();
}

std::optional<milliseconds> parse_duration(std::string_view text) {
    constexpr std::array<std::pair<std::string_view, milliseconds>, 4> units{
        {{"ms", 1ms}, {"s", 1s}, {"m", 1min}, {"h", 1h}}};
    std::int32_t count = 0;
    const char* begin = text.data();
    const char* end = begin + text.size();
    const auto [stop, error] = std::from_chars(begin, end, count);
    if (error != std::errc() || count < 0 || text.starts_with('-')) {
        return std::nullopt;
    }
    const std::string_view written(stop, static_cast<std::size_t>(end - stop));
    for (const auto& [unit, length] : units) {
        if (unit == written) {
            return count * length;
        }
    }
    return std::nullopt;
}

ReadOutcome read_addresses(const toml::array& list, std::vector<PciAddress>& target) {
    std::vector<PciAddress> addresses;
    for (const toml::node& entry : list) {
        ReadOutcome outcome;
        const std::string* text = plain_string(entry, "a PCI address", outcome);
        if (text == nullptr) {
            return outcome;
        }
        const auto address = PciAddress::parse(*text);
        if (!address) {
            return problem(entry, address.error().text());
        }
        addresses.push_back(*address);
    }
    std::sort(addresses.begin(), addresses.end());
    addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
    target = std::move(addresses);
    return {};
}

bool is_star(const toml::node& node) {
    const auto* text = node.as_string();
    return text != nullptr && text->get() == "*";
}

} // namespace

ReadOutcome read_path(const toml::node& node, std::string& target) {
    ReadOutcome outcome;
    const std::string* text = plain_string(node, "an absolute path", outcome);
    if (text == nullptr) {
        return outcome;
    }
    if (!text->starts_with('/')) {
        return problem(node, fmt::format("\"{}\" is no absolute path", printable(*text)));
    }
    target = text->substr(0, text->find_last_not_of('/') + 1);
    if (target.empty()) {
        target = "/";
    }
    return {};
}

ReadOutcome read_duration(const toml::node& node, milliseconds& target,
                          std::optional<milliseconds> below) {
    ReadOutcome outcome;
    const std::string* text =
        plain_string(node, "a duration with its unit, e.g. \"20s\" or \"500ms\",", outcome);
    if (text == nullptr) {
        return outcome;
    }
    const auto duration = parse_duration(*text);
    if (!duration) {
        return problem(node, fmt::format("\"{}\" is no duration; write a whole number and ms, s, "
                                         "m or h, e.g. \"20s\"",
                                         printable(*text, 60)));
    }
    if (*duration < 1ms || *duration > 1h) {
        return problem(node,
                       fmt::format("\"{}\" is out of range: 1ms to 1h", printable(*text, 60)));
    }
    if (below && *duration >= *below) {
        return problem(node, fmt::format("\"{}\" is too long: it must be less than {}s",
                                         printable(*text, 60), *below / 1s));
    }
    target = *duration;
    return {};
}

ReadOutcome read_self_removal(const toml::node& node, milliseconds& target) {
    const auto* value = node.as_string();
    if (value != nullptr && value->get() == "auto") {
        target = -1ms;
        return {};
    }
    if (value != nullptr && parse_duration(value->get()) == 0ms) {
        target = 0ms;
        return {};
    }
    auto outcome = read_duration(node, target);
    if (outcome) {
        outcome->text += "; \"auto\" and \"0s\" are allowed, too";
    }
    return outcome;
}

ReadOutcome read_bool(const toml::node& node, bool& target) {
    const auto* value = node.as_boolean();
    if (value == nullptr) {
        return problem(node, "expected true or false");
    }
    target = value->get();
    return {};
}

ReadOutcome read_uri(const toml::node& node, std::string& target) {
    ReadOutcome outcome;
    const std::string* text = plain_string(node, "a libvirt URI", outcome);
    if (text == nullptr) {
        return outcome;
    }
    if (text->empty()) {
        return problem(node, "a libvirt URI cannot be empty; the usual one is \"qemu:///system\"");
    }
    target = *text;
    return {};
}

ReadOutcome read_group(const toml::node& node, std::string& target) {
    ReadOutcome outcome;
    const std::string* text = plain_string(node, "the name of a group, or \"\"", outcome);
    if (text == nullptr) {
        return outcome;
    }
    target = *text;
    return {};
}

ReadOutcome read_managed(const toml::node& node, Config::Gpus& gpus) {
    const toml::array* list = node.as_array();
    if (list == nullptr) {
        return problem(node, "expected [\"*\"] or a list of PCI addresses in quotes");
    }
    const auto stars = std::count_if(list->begin(), list->end(), is_star);
    if (stars > 0 && static_cast<std::size_t>(stars) < list->size()) {
        return problem(node, "\"*\" means all GPUs: it cannot stand beside addresses");
    }
    gpus.all_managed = stars > 0;
    gpus.managed.clear();
    return gpus.all_managed ? ReadOutcome() : read_addresses(*list, gpus.managed);
}

ReadOutcome read_ignored(const toml::node& node, Config::Gpus& gpus) {
    const toml::array* list = node.as_array();
    if (list == nullptr) {
        return problem(node, "expected a list of PCI addresses in quotes");
    }
    if (std::any_of(list->begin(), list->end(), is_star)) {
        return problem(node, "\"*\" is not allowed here; to manage nothing write managed = []");
    }
    return read_addresses(*list, gpus.ignored);
}

} // namespace vgpu
