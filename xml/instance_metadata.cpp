#include "xml/instance_metadata.hpp"

#include "xml/domain_nodes.hpp"
#include "xml/instance_element.hpp"

#include <fmt/format.h>

#include <cstring>

namespace vgpu::xml {

namespace {

bool is_instance(const xmlNode* node) {
    return node->type == XML_ELEMENT_NODE && node->ns != nullptr && node->ns->href != nullptr &&
           std::strcmp(reinterpret_cast<const char*>(node->ns->href), instance_namespace) == 0;
}

/// libvirt and people may break and indent lines around the text.
std::string trimmed(const std::string& text) {
    constexpr const char* space = " \t\r\n";
    const auto begin = text.find_first_not_of(space);
    return begin == text.npos ? std::string()
                              : text.substr(begin, text.find_last_not_of(space) - begin + 1);
}

/// Text as it must stand between tags. Quotes stay, of which JSON is full.
std::string escaped_text(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '"' || c == '\'') {
            out += c;
        } else {
            out += escaped({&c, 1});
        }
    }
    return out;
}

std::string block_of(const std::string& request) {
    return fmt::format("<vgpu:instance xmlns:vgpu=\"{}\">{}</vgpu:instance>", instance_namespace,
                       escaped_text(request));
}

} // namespace

xmlNode* instance_element(xmlNode* domain) {
    const xmlNode* metadata = child(domain, "metadata");
    xmlNode* node = metadata == nullptr ? nullptr : first_element(metadata);
    while (node != nullptr && !is_instance(node)) {
        node = next_element(node);
    }
    return node;
}

void put_instance(Editor& editor, const std::string& request) {
    if (const xmlNode* present = instance_element(editor.domain)) {
        editor.elements.replace(present, block_of(request));
    } else {
        add_to_metadata(editor, block_of(request));
    }
}

void drop_instance(Editor& editor) {
    for (const xmlNode* node = instance_element(editor.domain); node != nullptr;
         node = next_element(node)) {
        if (is_instance(node)) {
            editor.elements.remove(node);
        }
    }
}

Result<std::optional<std::string>> instance_request_of(std::string_view xml) {
    VGPU_TRY_ASSIGN(const Document document, Document::parse(xml));
    VGPU_TRY_ASSIGN(xmlNode * domain, domain_node(document));
    const xmlNode* element = instance_element(domain);
    if (element == nullptr ||
        std::strcmp(reinterpret_cast<const char*>(element->name), "instance") != 0) {
        return std::optional<std::string>();
    }
    return std::optional(trimmed(content(element)));
}

} // namespace vgpu::xml
