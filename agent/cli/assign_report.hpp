#pragma once

#include "agent/assignment/assign.hpp"

#include <string>

namespace vgpu::cli {

/// What assign or unassign has done, for people and for programs.
[[nodiscard]] std::string change_text(const DomainChange& change);
[[nodiscard]] std::string change_json(const DomainChange& change);

} // namespace vgpu::cli
