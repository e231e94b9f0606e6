#include "xml/instance_fields.hpp"

#include "xml/xml_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace vgpu::xml {

namespace {

constexpr std::size_t max_path = 4095; // PATH_MAX without its NUL
constexpr std::size_t max_set = 1024;

constexpr std::string_view word_characters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";

bool read_number(std::string_view text, std::uint32_t& value) {
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && stop == text.data() + text.size() && value < 4096;
}

} // namespace

Result<void> refuse(std::string_view pointer, std::string_view what) {
    return fail(ErrorCode::invalid, fmt::format("{}: {}", pointer, what));
}

Result<void> check_text(std::string_view pointer, std::string_view text, std::size_t limit,
                        bool lines) {
    if (text.size() > limit) {
        return refuse(pointer, fmt::format("{} bytes; at most {} are allowed", text.size(), limit));
    }
    if (!fits_xml(text, lines)) {
        return refuse(pointer, "it is not UTF-8, or holds a control character");
    }
    return {};
}

Result<void> check_choice(std::string_view pointer, std::string_view text, Words words) {
    if (text.empty() || std::ranges::find(words, text) != words.end()) {
        return {};
    }
    return refuse(pointer, fmt::format("\"{}\" is not one of: {}", printable(text, 40),
                                       fmt::join(words, ", ")));
}

Result<void> check_word(std::string_view pointer, std::string_view text, std::size_t limit) {
    if (text.size() > limit || text.find_first_not_of(word_characters) != text.npos) {
        return refuse(pointer, fmt::format("\"{}\" is no name of 1 to {} letters, digits, '_', '.' "
                                           "and '-'",
                                           printable(text, 80), limit));
    }
    return {};
}

Result<void> check_path(std::string_view pointer, std::string_view path) {
    VGPU_TRY(check_text(pointer, path, max_path));
    if (!path.empty() && (path.front() != '/' || path.back() == '/')) {
        return refuse(pointer,
                      fmt::format("\"{}\" is no absolute path of a file", printable(path, 80)));
    }
    return {};
}

Result<void> check_set(std::string_view pointer, std::string_view set) {
    if (set.size() > max_set) {
        return refuse(pointer, fmt::format("longer than {} bytes", max_set));
    }
    for (std::string_view rest = set; !rest.empty();) {
        const auto comma = std::min(rest.find(','), rest.size());
        const std::string_view range = rest.substr(0, comma);
        const auto dash = std::min(range.find('-'), range.size());
        std::uint32_t first = 0;
        std::uint32_t last = 0;
        const bool good = read_number(range.substr(0, dash), first) &&
                          (dash == range.size() || read_number(range.substr(dash + 1), last));
        const bool ends_in_comma = comma + 1 == rest.size();
        if (!good || (dash != range.size() && last < first) || ends_in_comma) {
            return refuse(pointer, fmt::format("\"{}\" is no set of numbers up to 4095 like "
                                               "\"0-3,8\"",
                                               printable(set, 80)));
        }
        rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
    return {};
}

/// libvirt takes no multicast address for a card, and six zeros are none.
Result<void> check_mac(std::string_view pointer, std::string_view mac) {
    std::uint64_t value = 0;
    bool good = mac.size() == 17;
    for (std::size_t i = 0; good && i < mac.size(); ++i) {
        if (i % 3 == 2) {
            good = mac[i] == ':';
            continue;
        }
        unsigned digit = 0;
        good = std::from_chars(&mac[i], &mac[i] + 1, digit, 16).ec == std::errc();
        value = value << 4 | digit;
    }
    if (!mac.empty() && (!good || value == 0 || (value >> 40 & 1U) != 0)) {
        return refuse(pointer, fmt::format("\"{}\" is no address of a network card like "
                                           "\"52:54:00:12:34:56\"",
                                           printable(mac, 40)));
    }
    return {};
}

} // namespace vgpu::xml
