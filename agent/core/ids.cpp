#include "agent/core/ids.hpp"

#include <fmt/format.h>

#include <sys/random.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <iterator>

namespace vgpu {

namespace {

/// A number of 1 to `digits` hex digits, nothing else; nullopt also above `maximum`.
std::optional<std::uint32_t> hex_field(std::string_view text, std::size_t digits,
                                       std::uint32_t maximum) {
    if (text.empty() || text.size() > digits) {
        return std::nullopt;
    }
    std::uint32_t value = 0;
    const char* begin = text.data();
    const char* end = begin + text.size();
    const auto [stop, error] = std::from_chars(begin, end, value, 16);
    if (error != std::errc() || stop != end || value > maximum) {
        return std::nullopt;
    }
    return value;
}

std::optional<PciAddress> parse_pci(std::string_view text) {
    const auto first = text.find(':');
    const auto second = first == text.npos ? text.npos : text.find(':', first + 1);
    const auto dot = second == text.npos ? text.npos : text.find('.', second + 1);
    if (dot == text.npos) {
        return std::nullopt;
    }
    const auto domain = hex_field(text.substr(0, first), 8, 0xffffffff);
    const auto bus = hex_field(text.substr(first + 1, second - first - 1), 2, 0xff);
    const auto slot = hex_field(text.substr(second + 1, dot - second - 1), 2, 0x1f);
    const auto function = hex_field(text.substr(dot + 1), 1, 7);
    if (!domain || !bus || !slot || !function) {
        return std::nullopt;
    }
    return PciAddress{*domain, static_cast<std::uint8_t>(*bus), static_cast<std::uint8_t>(*slot),
                      static_cast<std::uint8_t>(*function)};
}

bool dashes_in_place(std::string_view text) {
    return text[8] == '-' && text[13] == '-' && text[18] == '-' && text[23] == '-';
}

std::optional<Uuid> parse_uuid(std::string_view text) {
    std::string digits(text);
    if (text.size() == 36 && dashes_in_place(text)) {
        std::erase(digits, '-');
    }
    if (digits.size() != 32) {
        return std::nullopt;
    }
    Uuid uuid;
    for (std::size_t i = 0; i < uuid.bytes.size(); ++i) {
        const char* begin = digits.data() + 2 * i;
        const auto [stop, error] = std::from_chars(begin, begin + 2, uuid.bytes[i], 16);
        if (error != std::errc() || stop != begin + 2) {
            return std::nullopt;
        }
    }
    return uuid;
}

constexpr std::string_view pci_prefix = "pci-";
constexpr std::string_view mdev_prefix = "mdev-";

std::optional<DeviceKey> parse_key(std::string_view text) {
    if (text.starts_with(pci_prefix)) {
        if (const auto address = parse_pci(text.substr(pci_prefix.size()))) {
            return DeviceKey(*address);
        }
    } else if (text.starts_with(mdev_prefix)) {
        if (const auto uuid = parse_uuid(text.substr(mdev_prefix.size()))) {
            return DeviceKey(*uuid);
        }
    }
    return std::nullopt;
}

} // namespace

Result<PciAddress> PciAddress::parse(std::string_view text) {
    if (const auto address = parse_pci(text)) {
        return *address;
    }
    return fail(ErrorCode::invalid,
                fmt::format("\"{}\" is no PCI address; expected DOMAIN:BUS:SLOT.FUNCTION in hex, "
                            "e.g. 0000:41:00.4",
                            printable(text, 60)));
}

std::string PciAddress::to_string() const {
    return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", domain, bus, slot, function);
}

Result<Uuid> Uuid::parse(std::string_view text) {
    if (const auto uuid = parse_uuid(text)) {
        return *uuid;
    }
    return fail(ErrorCode::invalid,
                fmt::format("\"{}\" is no UUID; expected e.g. 2f6c1f0a-52c1-4b8e-9d0b-6f3c6f0a7e11",
                            printable(text, 60)));
}

Uuid Uuid::random() {
    Uuid uuid;
    // A read of up to 256 bytes is whole once the pool is initialised; before that a signal can
    // interrupt the wait (getrandom(2)). Without random bytes no claim could be told from another.
    ssize_t got = 0;
    do {
        got = ::getrandom(uuid.bytes.data(), uuid.bytes.size(), 0);
    } while (got < 0 && errno == EINTR);
    if (got != static_cast<ssize_t>(uuid.bytes.size())) {
        std::abort();
    }
    uuid.bytes[6] = static_cast<std::uint8_t>((uuid.bytes[6] & 0x0f) | 0x40);
    uuid.bytes[8] = static_cast<std::uint8_t>((uuid.bytes[8] & 0x3f) | 0x80);
    return uuid;
}

std::string Uuid::to_string() const {
    std::string text;
    text.reserve(36);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        if (i == 4 || i == 6 || i == 8 || i == 10) {
            text += '-';
        }
        fmt::format_to(std::back_inserter(text), "{:02x}", bytes[i]);
    }
    return text;
}

Result<DeviceKey> DeviceKey::parse(std::string_view text) {
    const auto key = parse_key(text);
    // Two file names for one device would be two claims on it: only the canonical spelling is one.
    if (key && key->to_string() == text) {
        return *key;
    }
    return fail(ErrorCode::invalid,
                fmt::format("\"{}\" is no device key; expected e.g. pci-0000:41:00.4 or mdev-UUID "
                            "in lower case",
                            printable(text, 60)));
}

Result<DeviceKey> DeviceKey::parse_device(std::string_view text) {
    if (const auto key = parse_key(text)) {
        return *key;
    }
    if (const auto address = parse_pci(text)) {
        return DeviceKey(*address);
    }
    if (const auto uuid = parse_uuid(text)) {
        return DeviceKey(*uuid);
    }
    return fail(ErrorCode::invalid,
                fmt::format("\"{}\" is no device; expected a PCI address such as 0000:41:00.4 or "
                            "the UUID of an mdev",
                            printable(text, 60)));
}

std::string DeviceKey::to_string() const {
    return std::string(pci_ ? pci_prefix : mdev_prefix) + device();
}

std::string DeviceKey::device() const {
    return pci_ ? pci_->to_string() : mdev_->to_string();
}

} // namespace vgpu
