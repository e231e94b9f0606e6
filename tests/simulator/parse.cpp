#include "tests/simulator/parse.hpp"

#include <fmt/format.h>

#include <string.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>

namespace vgpu::simulator {

tl::expected<std::uint32_t, int> kernel_number(std::string_view text) {
    if (text.ends_with('\n')) {
        text.remove_suffix(1);
    }
    if (text.starts_with('+')) {
        text.remove_prefix(1);
    }
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || end != text.data() + text.size() || error == std::errc::invalid_argument) {
        return tl::unexpected<int>(EINVAL);
    }
    if (error != std::errc{}) {
        return tl::unexpected<int>(ERANGE);
    }
    return value;
}

tl::expected<std::string, int> kernel_uuid(std::string_view text) {
    if (text.size() != 36 && !(text.size() == 37 && text.back() == '\n')) {
        return tl::unexpected<int>(EINVAL);
    }
    std::string uuid(text.substr(0, 36));
    for (std::size_t i = 0; i < uuid.size(); ++i) {
        const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        const auto byte = static_cast<unsigned char>(uuid[i]);
        if (dash ? byte != '-' : std::isxdigit(byte) == 0) {
            return tl::unexpected<int>(EINVAL);
        }
        uuid[i] = static_cast<char>(std::tolower(byte));
    }
    return uuid;
}

std::string_view trimmed(std::string_view text) {
    const auto first = text.find_first_not_of(" \t\n");
    if (first == std::string_view::npos) {
        return {};
    }
    return text.substr(first, text.find_last_not_of(" \t\n") - first + 1);
}

int errno_value(std::string_view text) {
    int number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    constexpr int last = 133;
    if (error == std::errc{} && end == text.data() + text.size()) {
        return number > 0 && number <= last ? number : 0;
    }
    for (int value = 1; value <= last; ++value) {
        const char* name = strerrorname_np(value);
        if (name != nullptr && text == name) {
            return value;
        }
    }
    return 0;
}

std::string errno_name(int error) {
    const char* name = strerrorname_np(error);
    return name == nullptr ? fmt::format("{}", error) : name;
}

} // namespace vgpu::simulator
