#include "xml/domain.hpp"

namespace vgpu::xml {

namespace {

bool contains(std::string_view text, std::string_view part) {
    return text.find(part) != text.npos;
}

} // namespace

// In UTF-8 the name of an element cannot be written in any other way than literally, so a hostdev
// shows as
// "<hostdev". Our namespace is the value of an xmlns attribute, in which any character may be
// written as a reference. All that could make these two statements untrue counts as a yes: another
// encoding, a document type declaration, something that is no XML.
bool may_concern_us(std::string_view xml) {
    const auto first = xml.find_first_not_of(" \t\r\n");
    const std::string_view start = first == xml.npos ? std::string_view() : xml.substr(first);
    if (!start.starts_with('<') || start.starts_with("<?xml")) {
        return true;
    }
    return contains(xml, "<hostdev") || contains(xml, "virt-vgpu:domain") ||
           (contains(xml, "&#") && contains(xml, "xmlns")) || contains(xml, "<!DOCTYPE") ||
           contains(xml, std::string_view("\0", 1));
}

} // namespace vgpu::xml
