#include "agent/core/catalogue.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace vgpu {

namespace {

constexpr std::string_view blanks = " \t\r\n\v\f";
/// NVML hands names out in buffers of 64 and 96 bytes; a longer one is no name.
constexpr std::size_t longest_name = 256;

std::string_view trim(std::string_view text) {
    const auto first = text.find_first_not_of(blanks);
    if (first == text.npos) {
        return {};
    }
    return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

/// A decimal number of 32 bits, not 0: as a type id that is the driver's word for "no vGPU".
std::optional<std::uint32_t> positive_number(std::string_view text) {
    std::uint32_t id = 0;
    const char* begin = text.data();
    const char* end = begin + text.size();
    const auto [stop, error] = std::from_chars(begin, end, id);
    if (error != std::errc() || stop != end || id == 0) {
        return std::nullopt;
    }
    return id;
}

bool is_name(std::string_view text) {
    const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
    const auto digit = [](char c) { return c >= '0' && c <= '9'; };
    return !text.empty() && text.size() <= longest_name &&
           std::none_of(text.begin(), text.end(), control) &&
           !std::all_of(text.begin(), text.end(), digit);
}

struct Columns {
    std::string_view id;
    std::string_view name;
};

/// "1145  : NVIDIA L40S-1B", or "NVIDIA L40S-1Q           1147". Names hold spaces (all Blackwell
/// boards), so neither form can be split into words.
Columns split(std::string_view row) {
    if (const auto colon = row.find(':'); colon != row.npos) {
        return {trim(row.substr(0, colon)), trim(row.substr(colon + 1))};
    }
    const auto space = row.find_last_of(blanks);
    if (space == row.npos) {
        return {{}, row};
    }
    return {row.substr(space + 1), trim(row.substr(0, space))};
}

bool is_header(std::string_view row) {
    const auto colon = row.find(':');
    return colon != row.npos && trim(row.substr(0, colon)) == "ID";
}

} // namespace

Result<std::vector<VgpuType>> parse_creatable_types(std::string_view text) {
    std::vector<VgpuType> types;
    while (!text.empty()) {
        const auto end = std::min(text.find('\n'), text.size());
        const std::string_view row = trim(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
        if (row.empty() || is_header(row)) {
            continue;
        }
        const Columns columns = split(row);
        const auto id = positive_number(columns.id);
        if (!id || !is_name(columns.name)) {
            return fail(ErrorCode::invalid,
                        fmt::format("the driver's list of vGPU types has the row \"{}\", which is "
                                    "neither \"ID : NAME\" nor \"NAME  ID\"",
                                    printable(row)));
        }
        types.push_back({*id, std::string(columns.name)});
    }
    return types;
}

std::uint32_t description_framebuffer_mib(std::string_view description) {
    constexpr std::string_view key = "framebuffer=";
    while (!description.empty()) {
        const auto end = std::min(description.find(','), description.size());
        std::string_view field = trim(description.substr(0, end));
        description.remove_prefix(std::min(end + 1, description.size()));
        if (field.starts_with(key) && field.ends_with('M')) {
            field.remove_prefix(key.size());
            field.remove_suffix(1);
            return positive_number(field).value_or(0);
        }
    }
    return 0;
}

} // namespace vgpu
