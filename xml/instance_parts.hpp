#pragma once

#include "xml/element.hpp"
#include "xml/instance.hpp"

#include <string>
#include <string_view>

/// The parts of a domain that is built from a request, inside xml/ only.
namespace vgpu::xml {

[[nodiscard]] inline bool is_arm(const InstanceRequest& request) {
    return request.arch == "aarch64";
}

/// Adds <devices> with everything but vGPUs.
void add_devices(Element& domain, const InstanceRequest& request);

/// The base XML of the request with name, uuid and request written into it.
[[nodiscard]] Result<std::string> based_xml(const InstanceRequest& request, const Uuid& uuid,
                                            std::string_view virt_type);

} // namespace vgpu::xml
