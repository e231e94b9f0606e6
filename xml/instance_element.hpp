#pragma once

#include "xml/domain_edit.hpp"

#include <string>

/// Our <instance> element, inside xml/ only.
namespace vgpu::xml {

/// The first element of instance_namespace in the domain's metadata, which is the one that libvirt
/// keeps; or null.
[[nodiscard]] xmlNode* instance_element(xmlNode* domain);

/// Writes the request into the metadata, in place of one that is there.
void put_instance(Editor& editor, const std::string& request);
/// Removes every <instance> element of ours.
void drop_instance(Editor& editor);

} // namespace vgpu::xml
