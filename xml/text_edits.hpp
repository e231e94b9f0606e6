#pragma once

#include "xml/xml_document.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace vgpu::xml {

/// Changes to a text, collected against its original offsets and applied at once.
class TextEdits {
public:
    /// Ranges must not overlap; insertions at one place keep the order in which they were made.
    void replace(std::size_t begin, std::size_t end, std::string text);
    void insert(std::size_t at, std::string text) { replace(at, at, std::move(text)); }
    void remove(std::size_t begin, std::size_t end) { replace(begin, end, {}); }

    [[nodiscard]] std::string apply(std::string_view text) const;

private:
    struct Edit {
        std::size_t begin;
        std::size_t end;
        std::string text;
    };
    std::vector<Edit> edits_;
};

/// `value` as it must stand between quotes of either kind.
[[nodiscard]] std::string escaped(std::string_view value);

/// A block of lines, one level (two spaces) deeper.
[[nodiscard]] std::string indented(std::string_view block);

/// Collects changes to the attributes of one start tag; what is not named keeps its bytes.
class TagEdit {
public:
    TagEdit(const Document& document, const xmlNode* element, TextEdits& edits);

    /// Gives the attribute this value. One that has it already is not touched, however it is
    /// written.
    void set(const char* name, std::string_view value);
    /// The same, but the caller has found that the present value differs in meaning.
    void overwrite(const char* name, std::string_view value);
    void remove(const char* name);

private:
    [[nodiscard]] const AttributeSpan* find(std::string_view name) const;

    const Document& document_;
    const xmlNode* element_;
    TextEdits& edits_;
    TagSpan tag_;
};

/// Adds, places and removes whole elements so that new lines look like their neighbours.
class ElementEdit {
public:
    ElementEdit(const Document& document, const xmlNode* domain, TextEdits& edits);

    /// The blocks below are elements as text, indented by two spaces per level, without a last line
    /// break.
    void append_child(const xmlNode* parent, std::string_view block);
    void insert_before(const xmlNode* sibling, std::string_view block);
    void insert_after(const xmlNode* sibling, std::string_view block);
    /// Puts `block` where the element is.
    void replace(const xmlNode* element, std::string_view block);
    /// Removes the element, and its line if that was its own.
    void remove(const xmlNode* element);

private:
    [[nodiscard]] std::string_view separator(std::size_t begin) const;
    [[nodiscard]] std::string_view separator(const xmlNode* element) const;
    [[nodiscard]] std::string child_separator(const xmlNode* parent) const;
    [[nodiscard]] std::string render(std::string_view block, std::string_view separator) const;

    const Document& document_;
    TextEdits& edits_;
    std::string unit_; ///< one level of indentation, as the document does it
};

} // namespace vgpu::xml
