#pragma once

#include "xml/instance.hpp"

#include <string>
#include <utility>
#include <vector>

namespace vgpu::xml {

/// The uuid of every instance of the tests.
Uuid instance_uuid();

/// The smallest request: one vGPU, no disk, no network.
InstanceRequest minimal_request();

/// Requests that together use every field, each with a name for messages.
std::vector<std::pair<std::string, InstanceRequest>> sample_requests();

/// The request in the JSON text.
InstanceRequest request_from(const std::string& json);

/// The text of the error that the JSON text is refused with; "no error" if it is not.
std::string refusal_of(const std::string& json);

/// minimal JSON with more members: `{"name":...,<members>}`.
std::string json_with(const std::string& members);

} // namespace vgpu::xml
