#include "xml/domain_nodes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace vgpu::xml {

namespace {

/// isspace() of the C locale.
constexpr std::string_view c_space = " \t\n\v\f\r";

Error bad(const Document& document, const xmlNode* hostdev, std::string_view what) {
    return {ErrorCode::invalid,
            fmt::format("the hostdev on line {} {}", document.line(hostdev), what)};
}

/// One field of a PCI address. libvirt takes an absent one for 0.
Result<std::uint32_t> field(const Document& document, const xmlNode* hostdev,
                            const xmlNode* address, const char* name, std::uint32_t maximum) {
    const std::string text = attribute(address, name).value_or("0");
    const auto value = libvirt_number(text);
    if (!value || *value > maximum) {
        return fail(bad(document, hostdev,
                        fmt::format("has a bad PCI address: {}='{}' is no number up to 0x{:x}",
                                    name, printable(text, 40), maximum)));
    }
    return *value;
}

Result<PciAddress> read_address(const Document& document, const xmlNode* hostdev,
                                const xmlNode* address) {
    VGPU_TRY_ASSIGN(const auto domain, field(document, hostdev, address, "domain", 0xffffffff));
    VGPU_TRY_ASSIGN(const auto bus, field(document, hostdev, address, "bus", 0xff));
    VGPU_TRY_ASSIGN(const auto slot, field(document, hostdev, address, "slot", 0x1f));
    VGPU_TRY_ASSIGN(const auto function, field(document, hostdev, address, "function", 7));
    return PciAddress{domain, static_cast<std::uint8_t>(bus), static_cast<std::uint8_t>(slot),
                      static_cast<std::uint8_t>(function)};
}

Hostdev::Type type_of(const xmlNode* hostdev, std::string_view type) {
    if (attribute(hostdev, "mode").value_or("subsystem") != "subsystem") {
        return Hostdev::Type::other;
    }
    if (type == "pci") {
        return Hostdev::Type::pci;
    }
    return type == "mdev" ? Hostdev::Type::mdev : Hostdev::Type::other;
}

} // namespace

Result<Hostdev> read_hostdev(const Document& document, const xmlNode* hostdev) {
    Hostdev result;
    const std::string type = attribute(hostdev, "type").value_or("");
    result.type = type_of(hostdev, type);
    result.managed = attribute(hostdev, "managed") == "yes";
    result.alias = alias_of(hostdev);
    if (result.type == Hostdev::Type::other) {
        result.other_type = type;
        return result;
    }
    const xmlNode* source = child(hostdev, "source");
    const xmlNode* address = source == nullptr ? nullptr : child(source, "address");
    if (address == nullptr) {
        return fail(bad(document, hostdev, "has no <source> with an <address>"));
    }
    if (result.type == Hostdev::Type::pci) {
        VGPU_TRY_ASSIGN(result.address, read_address(document, hostdev, address));
        return result;
    }
    result.uuid = libvirt_uuid(attribute(address, "uuid").value_or(""));
    if (!result.uuid) {
        return fail(bad(document, hostdev, "is an mdev without a valid uuid= in its <address>"));
    }
    return result;
}

std::string alias_of(const xmlNode* device) {
    const xmlNode* alias = child(device, "alias");
    return alias == nullptr ? std::string() : attribute(alias, "name").value_or("");
}

// libvirt reads these fields by virStrToLong_uip() with base 0, that is by strtoul(): white space
// and a '+' may lead, nothing may follow, and no sign may be negative.
std::optional<std::uint32_t> libvirt_number(const std::string& text) {
    std::string_view digits(text);
    digits.remove_prefix(std::min(digits.find_first_not_of(c_space), digits.size()));
    if (digits.starts_with('+')) {
        digits.remove_prefix(1);
    }
    int base = 10;
    if (digits.starts_with("0x") || digits.starts_with("0X")) {
        base = 16;
        digits.remove_prefix(2);
    } else if (digits.starts_with('0')) {
        base = 8;
    }
    std::uint32_t value = 0;
    const char* begin = digits.data();
    const char* end = begin + digits.size();
    const auto [stop, error] = std::from_chars(begin, end, value, base);
    return error == std::errc() && stop == end ? std::optional(value) : std::nullopt;
}

std::optional<Uuid> libvirt_uuid(std::string_view text) {
    const auto begin = text.find_first_not_of(c_space);
    if (begin == text.npos) {
        return std::nullopt;
    }
    std::string digits(text.substr(begin, text.find_last_not_of(c_space) - begin + 1));
    std::erase_if(digits, [](char c) { return c == '-' || c == ' '; });
    const auto uuid = Uuid::parse(digits);
    return uuid ? std::optional(*uuid) : std::nullopt;
}

} // namespace vgpu::xml
