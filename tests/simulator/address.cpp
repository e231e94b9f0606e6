#include "tests/simulator/address.hpp"

#include <fmt/format.h>

#include <charconv>

namespace vgpu::simulator {

namespace {

/// Takes hex digits up to `end` (or the end of the text) off the front of `text`.
std::optional<std::uint32_t> take_hex(std::string_view& text, char end, std::size_t max_digits) {
    const auto length = end == '\0' ? text.size() : text.find(end);
    if (length == std::string_view::npos || length == 0 || length > max_digits) {
        return std::nullopt;
    }
    std::uint32_t value = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + length, value, 16);
    if (error != std::errc{} || rest != text.data() + length) {
        return std::nullopt;
    }
    text.remove_prefix(end == '\0' ? length : length + 1);
    return value;
}

} // namespace

std::optional<Address> Address::parse(std::string_view text) {
    const auto domain = take_hex(text, ':', 8);
    const auto bus = domain ? take_hex(text, ':', 2) : std::nullopt;
    const auto slot = bus ? take_hex(text, '.', 2) : std::nullopt;
    const auto function = slot ? take_hex(text, '\0', 1) : std::nullopt;
    if (!function || *slot > 0x1f || *function > 7) {
        return std::nullopt;
    }
    return Address{*domain, static_cast<std::uint8_t>(*bus),
                   static_cast<std::uint8_t>(*slot << 3U | *function)};
}

std::string Address::text() const {
    return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", domain, bus, devfn >> 3U, devfn & 7U);
}

std::optional<Address> Address::plus(std::uint32_t count) const {
    const std::uint64_t routing = (std::uint64_t{bus} << 8U | devfn) + count;
    if (routing > 0xffff) {
        return std::nullopt;
    }
    return Address{domain, static_cast<std::uint8_t>(routing >> 8U),
                   static_cast<std::uint8_t>(routing & 0xffU)};
}

} // namespace vgpu::simulator
