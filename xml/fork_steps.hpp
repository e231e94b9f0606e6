#pragma once

#include "xml/domain_edit.hpp"
#include "xml/forked.hpp"

#include <string>

/// The steps of a fork, inside xml/ only. Each touches other elements than the others do.
namespace vgpu::xml {

/// True for a path that libvirt made up: below its state directories, or with its "domain-3-name".
[[nodiscard]] bool is_automatic_path(std::string_view path);

/// Cleans a device that is no disk and no hostdev of ours.
void fork_device(Editor& editor, xmlNode* device, const std::string& old_name);
/// Points all disks at the fork's files.
[[nodiscard]] Result<void> fork_disks(Editor& editor, const ForkOptions& options);
/// Removes an alias that is not a user's.
void drop_alias(Editor& editor, const xmlNode* device);

} // namespace vgpu::xml
