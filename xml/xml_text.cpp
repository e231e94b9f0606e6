#include "xml/xml_text.hpp"

#include <cstddef>
#include <cstdint>

namespace vgpu::xml {

namespace {

/// The length of the UTF-8 sequence at the front of `text` with its character in `character`, or 0
/// if that is none: cut off, not in the shortest form, or beyond U+10FFFF.
std::size_t decode(std::string_view text, std::uint32_t& character) {
    const auto lead = static_cast<unsigned char>(text.front());
    if (lead < 0x80) {
        character = lead;
        return 1;
    }
    const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || text.size() < length) {
        return 0;
    }
    character = lead & (0xffU >> (length + 1));
    for (const char c : text.substr(1, length - 1)) {
        const auto byte = static_cast<unsigned char>(c);
        if ((byte & 0xc0U) != 0x80) {
            return 0;
        }
        character = character << 6 | (byte & 0x3fU);
    }
    constexpr std::uint32_t shortest[] = {0, 0, 0x80, 0x800, 0x10000};
    return character >= shortest[length] && character <= 0x10ffff ? length : 0;
}

} // namespace

bool fits_xml(std::string_view text, bool lines) {
    while (!text.empty()) {
        std::uint32_t character = 0;
        const std::size_t length = decode(text, character);
        const bool line_character = character == '\n' || character == '\t';
        if (length == 0 || (character < 0x20 && !(lines && line_character)) ||
            (character >= 0x7f && character < 0xa0) ||
            (character >= 0xd800 && character < 0xe000) || character == 0xfffe ||
            character == 0xffff) {
            return false;
        }
        text.remove_prefix(length);
    }
    return true;
}

} // namespace vgpu::xml
