#pragma once

#include "xml/xml_document.hpp"

#include <string>

namespace vgpu::xml {

/// An element of a document that is being built. Values are kept as they are and escaped when the
/// document is written. Out of memory shows as a null node, which swallows what is added to it;
/// NewDocument::text() then fails.
class Element {
public:
    Element(xmlNode* node, bool& complete) : node_(node), complete_(&complete) {
        complete = complete && node != nullptr;
    }

    /// Adds an attribute.
    Element& with(const char* name, const std::string& value);
    /// Adds an attribute unless the value is empty.
    Element& with_if(const char* name, const std::string& value);
    /// Adds a child element.
    Element add(const char* name);
    /// Adds a child element with text.
    Element add(const char* name, const std::string& text);
    /// Adds a child element of a namespace of its own.
    Element add(const char* name, const std::string& text, const char* uri, const char* prefix);

private:
    xmlNode* node_;
    bool* complete_;
};

/// A document that is being built. Stays where it is: its elements point to it.
class NewDocument {
public:
    explicit NewDocument(const char* root);
    NewDocument(const NewDocument&) = delete;
    NewDocument& operator=(const NewDocument&) = delete;

    [[nodiscard]] Element root() { return {xmlDocGetRootElement(doc_.get()), complete_}; }
    /// Indented by two spaces, without an XML declaration. Error: unavailable, no memory.
    [[nodiscard]] Result<std::string> text();

private:
    bool complete_ = true;
    DocPtr doc_;
};

} // namespace vgpu::xml
