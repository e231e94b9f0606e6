#pragma once

#include "agent/core/result.hpp"
#include "xml/markup.hpp"

#include <libxml/parser.h>
#include <libxml/tree.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vgpu::xml {

template <auto Free>
struct FreeWith {
    template <typename T>
    void operator()(T* object) const noexcept {
        Free(object);
    }
};

/// xmlFree is a variable that holds a function, so it cannot be a template argument.
struct FreeText {
    void operator()(xmlChar* text) const noexcept { xmlFree(text); }
};

using DocPtr = std::unique_ptr<xmlDoc, FreeWith<xmlFreeDoc>>;
using ParserPtr = std::unique_ptr<xmlParserCtxt, FreeWith<xmlFreeParserCtxt>>;
using TextPtr = std::unique_ptr<xmlChar, FreeText>;

/// A parsed document together with the text it came from, so that nodes can be traced to bytes.
class Document {
public:
    /// Parses untrusted text, which must outlive the document: never opens a file or a connection,
    /// expands no entity but the five predefined ones, prints nothing. Does not block. Errors:
    /// invalid, with the line, for everything that read_domain() refuses about the text as such.
    [[nodiscard]] static Result<Document> parse(std::string_view text);

    [[nodiscard]] std::string_view text() const { return text_; }
    [[nodiscard]] xmlNode* root() const { return xmlDocGetRootElement(doc_.get()); }
    /// Where an element of this document stands.
    [[nodiscard]] const ElementSpan& span(const xmlNode* element) const;
    /// The line (from 1) that an element of this document starts on.
    [[nodiscard]] std::size_t line(const xmlNode* element) const;

private:
    Document(std::string_view text, DocPtr doc, std::vector<ElementSpan> spans)
        : text_(text), doc_(std::move(doc)), spans_(std::move(spans)) {}

    std::string_view text_;
    DocPtr doc_;
    std::vector<ElementSpan> spans_; ///< each element's _private points to its entry
};

/// True for an element without a namespace. libvirt finds elements by XPath, so to libvirt too
/// <x:hostdev> is no hostdev.
[[nodiscard]] bool is_plain(const xmlNode* node, const char* name);
/// The first child element without a namespace of that name, or null.
[[nodiscard]] xmlNode* child(const xmlNode* parent, const char* name);
/// The first child that is an element, or null.
[[nodiscard]] xmlNode* first_element(const xmlNode* parent);
/// The next sibling that is an element, or null.
[[nodiscard]] xmlNode* next_element(const xmlNode* node);
/// The value of an attribute without a namespace, references resolved.
[[nodiscard]] std::optional<std::string> attribute(const xmlNode* element, const char* name);
/// All text inside an element.
[[nodiscard]] std::string content(const xmlNode* element);

} // namespace vgpu::xml
