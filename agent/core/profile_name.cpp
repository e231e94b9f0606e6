#include "agent/core/profile_name.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <numeric>

namespace vgpu {

namespace {

constexpr std::size_t shown_candidates = 8;

// The C library's classifications depend on the locale; these names are ASCII.
bool is_blank(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}
bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
bool is_letter(char c) {
    return lower(c) >= 'a' && lower(c) <= 'z';
}
char upper(char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}

std::string lower(std::string_view text) {
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(), [](char c) { return lower(c); });
    return out;
}

/// Without blanks at the ends, one space for every run of blanks between.
std::string single_spaced(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (!is_blank(c)) {
            out += c;
        } else if (!out.empty() && out.back() != ' ') {
            out += ' ';
        }
    }
    if (out.ends_with(' ')) {
        out.pop_back();
    }
    return out;
}

/// `name` without the vendor's prefix, which follows the driver release and not the chip: both
/// "GRID A100D-40C" and "NVIDIA A10-6Q" are in use.
std::string_view without_prefix(std::string_view name) {
    bool found = true;
    while (found) {
        found = false;
        for (const std::string_view prefix : {"nvidia ", "grid "}) {
            if (lower(name.substr(0, prefix.size())) == prefix) {
                name.remove_prefix(prefix.size());
                found = true;
            }
        }
    }
    return name;
}

/// A decimal number of 1 to `digits` digits.
std::optional<std::uint32_t> number(std::string_view text, std::size_t digits) {
    if (text.empty() || text.size() > digits) {
        return std::nullopt;
    }
    std::uint32_t value = 0;
    const char* begin = text.data();
    const char* end = begin + text.size();
    const auto [stop, error] = std::from_chars(begin, end, value);
    if (error != std::errc() || stop != end) {
        return std::nullopt;
    }
    return value;
}

bool is_suffix(std::string_view text) {
    return text.size() <= 8 && (std::all_of(text.begin(), text.end(), is_digit) ||
                                std::all_of(text.begin(), text.end(), is_letter));
}

/// Reads "24QGFX" into `name`.
bool parse_size(std::string_view text, ProfileName& name) {
    const auto series = std::find_if_not(text.begin(), text.end(), is_digit);
    const auto length = static_cast<std::size_t>(series - text.begin());
    const auto gigabytes = number(text.substr(0, length), 4);
    if (!gigabytes || series == text.end()) {
        return false;
    }
    name.gigabytes = *gigabytes;
    name.series = upper(*series);
    name.suffix = text.substr(length + 1);
    return std::string_view("ABCQ").find(name.series) != std::string_view::npos &&
           is_suffix(name.suffix);
}

/// Reads "A100-1" (board and slices) or "RTX5000-Ada" (board only) into `name`. More than two
/// digits are a part of the board's name: no GPU has a hundred slices.
bool parse_board(std::string_view text, ProfileName& name) {
    if (const auto dash = text.rfind('-'); dash != text.npos && dash > 0) {
        const auto slices = number(text.substr(dash + 1), 2);
        if (slices && *slices > 0) {
            name.slices = *slices;
            text = text.substr(0, dash);
        }
    }
    name.board = text;
    const auto is_edge = [](char c) { return c == '-' || c == ' '; };
    return !text.empty() && !is_edge(text.front()) && !is_edge(text.back());
}

/// The same type under two prefixes: a list remembered across driver releases may hold both.
bool same_type(const VgpuType& a, const VgpuType& b) {
    return a.id == b.id && normal_profile(a.name) == normal_profile(b.name);
}

/// Edit distance of two names, of which only the first 64 bytes count: the work stays bounded.
std::size_t distance(std::string_view a, std::string_view b) {
    a = a.substr(0, 64);
    b = b.substr(0, 64);
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i + 1;
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
        }
    }
    return row.back();
}

std::size_t distance(std::string_view profile, const VgpuType& type) {
    if (const auto id = requested_type_id(profile)) {
        return *id > type.id ? *id - type.id : type.id - *id;
    }
    return distance(normal_profile(profile), normal_profile(type.name));
}

/// "NVIDIA L40S-4Q (1150), NVIDIA L40S-4C (1160) and 3 more".
std::string listed(const std::vector<VgpuType>& types) {
    std::string out;
    const std::size_t shown = std::min(types.size(), shown_candidates);
    for (std::size_t i = 0; i < shown; ++i) {
        fmt::format_to(std::back_inserter(out), "{}{} ({})", i == 0 ? "" : ", ",
                       printable(types[i].name, 80), types[i].id);
    }
    if (shown < types.size()) {
        fmt::format_to(std::back_inserter(out), " and {} more", types.size() - shown);
    }
    return out;
}

std::string quoted(std::string_view profile) {
    return fmt::format("\"{}\"", printable(profile, 80));
}

Error no_such_type(std::string_view profile, const std::vector<VgpuType>& types) {
    if (types.empty()) {
        return Error(
            ErrorCode::not_found,
            fmt::format("no vGPU type is {}: there are no types to choose from", quoted(profile)));
    }
    std::vector<std::pair<std::size_t, VgpuType>> ranked;
    ranked.reserve(types.size());
    for (const VgpuType& type : types) {
        ranked.emplace_back(distance(profile, type), type);
    }
    std::sort(ranked.begin(), ranked.end());
    std::vector<VgpuType> near;
    for (std::size_t i = 0; i < std::min(ranked.size(), shown_candidates); ++i) {
        near.push_back(ranked[i].second);
    }
    return Error(ErrorCode::not_found, fmt::format("no vGPU type is {} among the {} looked at; "
                                                   "nearest: {}",
                                                   quoted(profile), types.size(), listed(near)));
}

} // namespace

std::optional<ProfileName> ProfileName::parse(std::string_view name) {
    const std::string spaced = single_spaced(name);
    const std::string_view bare = without_prefix(spaced);
    const auto dash = bare.rfind('-');
    ProfileName parsed;
    if (dash == bare.npos || !parse_size(bare.substr(dash + 1), parsed) ||
        !parse_board(bare.substr(0, dash), parsed)) {
        return std::nullopt;
    }
    return parsed;
}

std::string normal_profile(std::string_view name) {
    return std::string(without_prefix(lower(single_spaced(name))));
}

std::uint32_t framebuffer_mib(std::string_view profile) {
    const auto name = ProfileName::parse(profile);
    return name ? name->framebuffer_mib() : 0;
}

std::optional<std::uint32_t> requested_type_id(std::string_view profile) {
    constexpr std::string_view prefix = "nvidia-";
    const std::string normal = normal_profile(profile);
    std::string_view digits(normal);
    if (digits.starts_with(prefix)) {
        digits.remove_prefix(prefix.size());
    }
    const auto id = number(digits, 10);
    return id == std::uint32_t{0} ? std::nullopt : id;
}

bool matches(std::string_view profile, const VgpuType& type) {
    if (const auto id = requested_type_id(profile)) {
        return type.id == *id;
    }
    const std::string wanted = normal_profile(profile);
    return !wanted.empty() && wanted == normal_profile(type.name);
}

Result<VgpuType> find_type(std::string_view profile, const std::vector<VgpuType>& types) {
    std::vector<VgpuType> distinct = types;
    std::sort(distinct.begin(), distinct.end());
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    std::vector<VgpuType> found;
    std::copy_if(distinct.begin(), distinct.end(), std::back_inserter(found),
                 [&](const VgpuType& type) { return matches(profile, type); });
    found.erase(std::unique(found.begin(), found.end(), same_type), found.end());
    if (found.empty()) {
        return fail(no_such_type(profile, distinct));
    }
    if (found.size() > 1) {
        return fail(ErrorCode::conflict,
                    fmt::format("{} is ambiguous: it can be {}; name one of them in full or by "
                                "its type id",
                                quoted(profile), listed(found)));
    }
    return found.front();
}

} // namespace vgpu
