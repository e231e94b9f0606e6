#include "xml/element.hpp"

namespace vgpu::xml {

namespace {

using BufferPtr = std::unique_ptr<xmlBuffer, FreeWith<xmlBufferFree>>;

const xmlChar* xml_text(const char* text) {
    return reinterpret_cast<const xmlChar*>(text);
}

const xmlChar* xml_text(const std::string& text) {
    return xml_text(text.c_str());
}

} // namespace

Element& Element::with(const char* name, const std::string& value) {
    if (node_ != nullptr && xmlNewProp(node_, xml_text(name), xml_text(value)) == nullptr) {
        *complete_ = false;
    }
    return *this;
}

Element& Element::with_if(const char* name, const std::string& value) {
    return value.empty() ? *this : with(name, value);
}

Element Element::add(const char* name) {
    xmlNode* node =
        node_ == nullptr ? nullptr : xmlNewChild(node_, nullptr, xml_text(name), nullptr);
    return {node, *complete_};
}

// Not xmlNewChild(), which reads the text as XML: "a&b" would be an entity.
Element Element::add(const char* name, const std::string& text) {
    xmlNode* node = node_ == nullptr
                        ? nullptr
                        : xmlNewTextChild(node_, nullptr, xml_text(name), xml_text(text));
    return {node, *complete_};
}

Element Element::add(const char* name, const std::string& text, const char* uri,
                     const char* prefix) {
    Element added = add(name, text);
    if (added.node_ != nullptr) {
        xmlNs* ns = xmlNewNs(added.node_, xml_text(uri), xml_text(prefix));
        *complete_ = *complete_ && ns != nullptr;
        xmlSetNs(added.node_, ns);
    }
    return added;
}

NewDocument::NewDocument(const char* root) {
    // libxml2 before 2.11 does not guard its first initialisation against threads.
    [[maybe_unused]] static const bool initialised = (xmlInitParser(), true);
    doc_.reset(xmlNewDoc(xml_text("1.0")));
    xmlNode* node = doc_ ? xmlNewDocNode(doc_.get(), nullptr, xml_text(root), nullptr) : nullptr;
    complete_ = node != nullptr;
    if (complete_) {
        xmlDocSetRootElement(doc_.get(), node);
    }
}

Result<std::string> NewDocument::text() {
    const BufferPtr buffer(xmlBufferCreate());
    if (!complete_ || !buffer ||
        xmlNodeDump(buffer.get(), doc_.get(), xmlDocGetRootElement(doc_.get()), 0, 1) < 0) {
        return fail(ErrorCode::unavailable, "no memory to write the domain XML");
    }
    return std::string(reinterpret_cast<const char*>(xmlBufferContent(buffer.get()))) + "\n";
}

} // namespace vgpu::xml
