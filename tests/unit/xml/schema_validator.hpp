#pragma once

#include <string>
#include <vector>

namespace vgpu::xml {

/// What a RELAX NG schema has against a document; empty if nothing. Throws if there is no such
/// schema.
std::string schema_errors(const std::string& schema, const std::string& xml);

/// The text of the first element of our metadata namespace, as a document of its own.
std::string metadata_element(const std::string& xml);

/// libvirt's schemas: those installed, and those in the directories of $VGPU_LIBVIRT_SCHEMAS
/// (separated by colons), which must exist.
std::vector<std::string> libvirt_schemas();

} // namespace vgpu::xml
