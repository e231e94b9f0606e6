#include "tests/unit/xml/schema_validator.hpp"

#include "xml/xml_document.hpp"

#include <libxml/relaxng.h>

#include <filesystem>
#include <map>
#include <sstream>
#include <stdexcept>

namespace vgpu::xml {

namespace {

using SchemaPtr = std::unique_ptr<xmlRelaxNG, FreeWith<xmlRelaxNGFree>>;
using SchemaParserPtr = std::unique_ptr<xmlRelaxNGParserCtxt, FreeWith<xmlRelaxNGFreeParserCtxt>>;
using ValidatorPtr = std::unique_ptr<xmlRelaxNGValidCtxt, FreeWith<xmlRelaxNGFreeValidCtxt>>;

#if LIBXML_VERSION >= 21200
using ReportedError = const xmlError*;
#else
using ReportedError = xmlError*;
#endif

void append_error(void* text, ReportedError error) {
    *static_cast<std::string*>(text) += error->message;
}

/// libvirt's takes half a second to compile, so each is kept.
xmlRelaxNG* schema_of(const std::string& file) {
    static std::map<std::string, SchemaPtr> schemas;
    SchemaPtr& schema = schemas[file];
    if (!schema) {
        const SchemaParserPtr parser(xmlRelaxNGNewParserCtxt(file.c_str()));
        schema.reset(xmlRelaxNGParse(parser.get()));
    }
    if (!schema) {
        throw std::runtime_error("no usable schema in " + file);
    }
    return schema.get();
}

} // namespace

std::string schema_errors(const std::string& schema, const std::string& xml) {
    const DocPtr doc(xmlReadMemory(xml.data(), static_cast<int>(xml.size()), nullptr, nullptr, 0));
    if (!doc) {
        return "not well-formed";
    }
    const ValidatorPtr validator(xmlRelaxNGNewValidCtxt(schema_of(schema)));
    std::string errors;
    xmlRelaxNGSetValidStructuredErrors(validator.get(), append_error, &errors);
    const int result = xmlRelaxNGValidateDoc(validator.get(), doc.get());
    return result != 0 && errors.empty() ? "invalid" : errors;
}

std::string metadata_element(const std::string& xml) {
    const auto begin = xml.find("<vgpu:devices");
    const std::string end = "</vgpu:devices>";
    const auto last = xml.find(end);
    if (begin == xml.npos || last == xml.npos) {
        throw std::runtime_error("no metadata element");
    }
    return xml.substr(begin, last + end.size() - begin);
}

std::vector<std::string> libvirt_schemas() {
    std::vector<std::string> found;
    const std::string installed = "/usr/share/libvirt/schemas/domain.rng";
    if (std::filesystem::exists(installed)) {
        found.push_back(installed);
    }
    const char* more = std::getenv("VGPU_LIBVIRT_SCHEMAS");
    std::istringstream directories(more == nullptr ? "" : more);
    for (std::string directory; std::getline(directories, directory, ':');) {
        if (!directory.empty()) {
            found.push_back(directory + "/domain.rng");
        }
    }
    return found;
}

} // namespace vgpu::xml
