#pragma once

#include "xml/domain.hpp"
#include "xml/text_edits.hpp"

#include <string>
#include <string_view>

/// The steps of an edit, inside xml/ only.
namespace vgpu::xml {

struct Editor {
    const Document& document;
    xmlNode* domain;
    TextEdits& edits;
    ElementEdit elements;
};

/// Appends an element, as text, to <metadata>, which is made where it is missing.
void add_to_metadata(Editor& editor, const std::string& block);
/// Adds the request to the metadata, or changes the request of that name, and makes the metadata
/// this domain's.
void put_request(Editor& editor, const DomainView& view, const VgpuRequest& request);
/// Removes a request that is there; with the last one the metadata element, and a <metadata> left
/// empty.
void drop_request(Editor& editor, const DomainView& view, std::string_view name);

/// Adds the hostdev of the assignment, or points the one with its alias at the device.
/// Error: invalid when something that is no pci or mdev hostdev has the alias.
[[nodiscard]] Result<void> put_hostdev(Editor& editor, const Assignment& assignment);
/// Removes the pci or mdev hostdev of the request, if there is one.
void drop_hostdev(Editor& editor, std::string_view name);

} // namespace vgpu::xml
