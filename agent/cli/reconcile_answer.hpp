#pragma once

#include "agent/cli/json_view.hpp"
#include "agent/reconcile/report.hpp"

namespace vgpu::cli {

/// The report that virt-vgpud sent as JSON, with its text made harmless. What is not understood is
/// left out, but no action that failed.
[[nodiscard]] ReconcileReport report_of(const Json& json);

} // namespace vgpu::cli
