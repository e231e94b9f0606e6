#pragma once

#include "agent/core/result.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace vgpu::xml {

/// libvirt keeps one element of each namespace in a domain's metadata, so the request that an
/// instance was made from has one of its own.
inline constexpr const char* instance_namespace = "urn:virt-vgpu:instance:1";

/// The text of the request that the domain was made from (see request_text()), or nothing if it was
/// not made from one, or its metadata was dropped. The text is what the domain says: a copy made
/// by others says what its source said, with the source's name. Errors: as read_domain() for the
/// document as such. Does not block.
[[nodiscard]] Result<std::optional<std::string>> instance_request_of(std::string_view xml);

} // namespace vgpu::xml
