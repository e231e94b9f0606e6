#pragma once

#include "agent/core/result.hpp"

#include <cstddef>
#include <string_view>
#include <vector>

namespace vgpu::xml {

/// Where one element stands in the text, in bytes. libxml2 keeps no such positions; an edit that
/// splices text at them leaves every other byte of the document alone.
struct ElementSpan {
    std::size_t open_begin = 0;  ///< the '<' of its start tag
    std::size_t open_end = 0;    ///< behind the '>' of its start tag
    std::size_t close_begin = 0; ///< the '<' of its end tag; the same as `end` if there is none
    std::size_t end = 0;         ///< behind its last '>'

    /// True for <name/>.
    [[nodiscard]] bool self_closed() const { return close_begin == end; }
};

/// Where one attribute stands in the text, in bytes.
struct AttributeSpan {
    std::size_t begin = 0;       ///< first byte of the name
    std::size_t name_end = 0;    ///< behind the name
    std::size_t value_begin = 0; ///< behind the opening quote
    std::size_t value_end = 0;   ///< the closing quote
};

/// One start tag, taken apart.
struct TagSpan {
    std::size_t begin = 0;    ///< its '<'
    std::size_t name_end = 0; ///< behind the element's name
    std::size_t end = 0;      ///< behind its '>'
    bool self_closed = false;
    std::vector<AttributeSpan> attributes;
};

/// Bounds on a document beside its size and depth. libxml2 before 2.12 compares the attributes of
/// an element pairwise and looks through every namespace in scope for every element: a document of
/// a few MiB made for that keeps it busy for minutes.
inline constexpr std::size_t max_attributes_per_element = 256;
inline constexpr std::size_t max_namespace_declarations = 1000;
inline constexpr std::size_t max_elements = 200'000;

/// The elements of a document in document order.
/// Errors: invalid, with the line: a document type declaration (and with it every entity of the
/// document's own), or one of the bounds exceeded. The text need not be well-formed; where it is
/// not the list ends, and the XML parser that must follow says why.
[[nodiscard]] Result<std::vector<ElementSpan>> outline(std::string_view text);

/// Takes apart the start tag at `begin`, which must be a '<'. False if it is not well-formed.
[[nodiscard]] bool read_tag(std::string_view text, std::size_t begin, TagSpan& tag);

/// The line (from 1) that the byte at `offset` is on.
[[nodiscard]] std::size_t line_at(std::string_view text, std::size_t offset);

} // namespace vgpu::xml
