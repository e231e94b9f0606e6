#pragma once

#include "xml/domain.hpp"

#include <string>

namespace vgpu::cli {

/// What `xml inspect` prints of a domain.
[[nodiscard]] std::string domain_json(const xml::DomainView& domain);
[[nodiscard]] std::string domain_text(const xml::DomainView& domain, bool colour);

} // namespace vgpu::cli
