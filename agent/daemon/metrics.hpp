#pragma once

#include "agent/daemon/api.hpp"

namespace vgpu {

/// All metrics in Prometheus' text format. Blocks for a look at the host; a look that fails leaves
/// out what it would have told. docs/metrics.md says what each means.
[[nodiscard]] http::Response metrics_response(const ApiContext& context);

} // namespace vgpu
