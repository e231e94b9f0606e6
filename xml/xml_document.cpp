#include "xml/xml_document.hpp"

#include "xml/domain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>

namespace vgpu::xml {

namespace {

constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

// XML_PARSE_NOENT and XML_PARSE_DTDLOAD are what would open files, XML_PARSE_HUGE what would lift
// libxml2's own limits: none of them is here. XML_PARSE_IGNORE_ENC makes libxml2 read the same
// bytes that outline() has read.
constexpr int parse_options = XML_PARSE_NONET | XML_PARSE_NOWARNING | XML_PARSE_IGNORE_ENC
#if LIBXML_VERSION >= 21300
                              | XML_PARSE_NO_XXE
#endif
    ;

#if LIBXML_VERSION >= 21200
using ReportedError = const xmlError*;
#else
using ReportedError = xmlError*;
#endif

/// What libxml2 found first. Later errors are mostly consequences of it.
struct FirstError {
    int code = XML_ERR_OK;
    int line = 0;
};

void keep_first_error(void* context, ReportedError error) noexcept {
    auto* first = static_cast<FirstError*>(static_cast<xmlParserCtxt*>(context)->_private);
    if (error != nullptr && error->level == XML_ERR_FATAL && first->code == XML_ERR_OK) {
        *first = {error->code, error->line};
    }
}

/// libxml2's own messages quote the document, and with it perhaps a password of its graphics or
/// disks.
std::string_view reason(int code) {
    switch (code) {
    case XML_ERR_DOCUMENT_EMPTY:
        return "there is no element";
    case XML_ERR_DOCUMENT_END:
        return "something follows the end of the document";
    case XML_ERR_TAG_NAME_MISMATCH:
        return "an end tag does not match its start tag";
    case XML_ERR_TAG_NOT_FINISHED:
        return "the text ends inside an element";
    case XML_ERR_GT_REQUIRED:
    case XML_ERR_LT_REQUIRED:
    case XML_ERR_LTSLASH_REQUIRED:
        return "a tag is not complete";
    case XML_ERR_ATTRIBUTE_REDEFINED:
        return "an attribute is given twice";
    case XML_ERR_ATTRIBUTE_NOT_STARTED:
    case XML_ERR_ATTRIBUTE_NOT_FINISHED:
    case XML_ERR_ATTRIBUTE_WITHOUT_VALUE:
    case XML_ERR_SPACE_REQUIRED:
        return "an attribute is not complete or not quoted";
    case XML_ERR_LT_IN_ATTRIBUTE:
        return "an attribute holds an unescaped '<'";
    case XML_ERR_UNDECLARED_ENTITY:
    case XML_WAR_UNDECLARED_ENTITY:
        return "an entity is used that is not one of the five predefined ones";
    case XML_ERR_NAME_REQUIRED:
    case XML_ERR_ENTITYREF_SEMICOL_MISSING:
    case XML_ERR_INVALID_CHARREF:
        return "a name is missing, or an '&' is not escaped";
    case XML_ERR_INVALID_CHAR:
        return "a character is not allowed in XML";
    case XML_ERR_INVALID_ENCODING:
        return "it is not UTF-8";
    case XML_ERR_COMMENT_NOT_FINISHED:
    case XML_ERR_CDATA_NOT_FINISHED:
    case XML_ERR_PI_NOT_FINISHED:
        return "a comment, CDATA section or processing instruction is not closed";
    default:
        return {};
    }
}

Error malformed(std::string_view text, const FirstError& first) {
    const std::string_view known = reason(first.code);
    const std::string why =
        known.empty() ? fmt::format("libxml2 error {}", first.code) : std::string(known);
    const auto line =
        first.line > 0 ? static_cast<std::size_t>(first.line) : line_at(text, text.size());
    return {ErrorCode::invalid,
            fmt::format("the domain XML is not well-formed (line {}): {}", line, why)};
}

/// The encoding in the XML declaration, in lower case; empty if there is none.
std::string declared_encoding(std::string_view text) {
    if (!text.starts_with("<?xml")) {
        return {};
    }
    const std::string_view declaration = text.substr(0, text.find("?>"));
    const auto name = declaration.find("encoding");
    const auto begin = name == declaration.npos ? name : declaration.find_first_of("\"'", name);
    if (begin == declaration.npos) {
        return {};
    }
    const auto end = declaration.find(declaration[begin], begin + 1);
    std::string encoding(
        declaration.substr(begin + 1, end == declaration.npos ? end : end - begin - 1));
    std::ranges::transform(encoding, encoding.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return encoding;
}

/// In any encoding but UTF-8 markup could hide from outline(), and edits could not be spliced in.
Result<void> check_bytes(std::string_view text) {
    if (text.size() > max_domain_xml_bytes) {
        return fail(ErrorCode::invalid,
                    fmt::format("the domain XML has {} bytes; at most {} are read", text.size(),
                                max_domain_xml_bytes));
    }
    if (text.find('\0') != text.npos) {
        return fail(
            ErrorCode::invalid,
            "the domain XML holds a NUL byte (UTF-16, or no text at all); only UTF-8 is read");
    }
    if (text.starts_with(byte_order_mark)) {
        text.remove_prefix(byte_order_mark.size());
    }
    const auto first = text.find_first_not_of(" \t\r\n");
    if (first == text.npos) {
        return fail(ErrorCode::invalid, "the domain XML is empty");
    }
    if (text[first] != '<') {
        return fail(ErrorCode::invalid, "this is no XML: it does not begin with '<'");
    }
    const std::string encoding = declared_encoding(text);
    if (!encoding.empty() && encoding != "utf-8" && encoding != "us-ascii") {
        return fail(ErrorCode::invalid,
                    fmt::format("the domain XML declares the encoding {}; only UTF-8 is read",
                                printable(encoding, 40)));
    }
    return {};
}

xmlNode* next_in_document(xmlNode* node) {
    if (node->type == XML_ELEMENT_NODE && node->children != nullptr) {
        return node->children;
    }
    while (node != nullptr && node->next == nullptr) {
        node = node->parent;
    }
    return node == nullptr ? nullptr : node->next;
}

/// Links every element to its span. False if there are not as many of the one as of the other.
bool link_spans(xmlNode* root, std::vector<ElementSpan>& spans) {
    std::size_t index = 0;
    for (xmlNode* node = root; node != nullptr; node = next_in_document(node)) {
        if (node->type != XML_ELEMENT_NODE) {
            continue;
        }
        if (index == spans.size()) {
            return false;
        }
        node->_private = &spans[index++];
    }
    return index == spans.size();
}

const xmlChar* xml_text(const char* text) {
    return reinterpret_cast<const xmlChar*>(text);
}

std::string to_string(const TextPtr& text) {
    return text ? std::string(reinterpret_cast<const char*>(text.get())) : std::string();
}

Result<DocPtr> parse_text(std::string_view text) {
    // libxml2 before 2.11 does not guard its first initialisation against threads.
    [[maybe_unused]] static const bool initialised = (xmlInitParser(), true);
    const ParserPtr parser(xmlNewParserCtxt());
    if (!parser) {
        return fail(ErrorCode::unavailable, "no memory to parse the domain XML");
    }
    FirstError first;
    parser->_private = &first;
    // Without a structured handler of its own the parser prints to stderr, which libvirt shows to
    // the user.
    parser->sax->serror = keep_first_error;
    if (text.starts_with(byte_order_mark)) {
        text.remove_prefix(byte_order_mark.size());
    }
    DocPtr doc(xmlCtxtReadMemory(parser.get(), text.data(), static_cast<int>(text.size()), nullptr,
                                 nullptr, parse_options));
    if (!doc || xmlDocGetRootElement(doc.get()) == nullptr) {
        return fail(malformed(text, first));
    }
    return doc;
}

} // namespace

Result<Document> Document::parse(std::string_view text) {
    VGPU_TRY(check_bytes(text));
    VGPU_TRY_ASSIGN(std::vector<ElementSpan> spans, outline(text));
    VGPU_TRY_ASSIGN(DocPtr doc, parse_text(text));
    if (doc->intSubset != nullptr || !link_spans(xmlDocGetRootElement(doc.get()), spans)) {
        return fail(ErrorCode::invalid, "the domain XML cannot be taken apart");
    }
    return Document(text, std::move(doc), std::move(spans));
}

const ElementSpan& Document::span(const xmlNode* element) const {
    return *static_cast<const ElementSpan*>(element->_private);
}

std::size_t Document::line(const xmlNode* element) const {
    return line_at(text_, span(element).open_begin);
}

bool is_plain(const xmlNode* node, const char* name) {
    return node->type == XML_ELEMENT_NODE && node->ns == nullptr &&
           xmlStrEqual(node->name, xml_text(name)) != 0;
}

xmlNode* child(const xmlNode* parent, const char* name) {
    xmlNode* node = parent->children;
    while (node != nullptr && !is_plain(node, name)) {
        node = node->next;
    }
    return node;
}

xmlNode* first_element(const xmlNode* parent) {
    xmlNode* node = parent->children;
    return node == nullptr || node->type == XML_ELEMENT_NODE ? node : next_element(node);
}

xmlNode* next_element(const xmlNode* node) {
    xmlNode* next = node->next;
    while (next != nullptr && next->type != XML_ELEMENT_NODE) {
        next = next->next;
    }
    return next;
}

std::optional<std::string> attribute(const xmlNode* element, const char* name) {
    const TextPtr value(xmlGetNoNsProp(element, xml_text(name)));
    return value ? std::optional(to_string(value)) : std::nullopt;
}

std::string content(const xmlNode* element) {
    return to_string(TextPtr(xmlNodeGetContent(element)));
}

} // namespace vgpu::xml
