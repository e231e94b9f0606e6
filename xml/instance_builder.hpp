#pragma once

#include "agent/core/ids.hpp"
#include "agent/core/result.hpp"
#include "xml/instance.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace vgpu::xml {

/// The domain XML of an instance without its devices: they are added with with_devices() once it is
/// known which. `virt_type` ("kvm" or "qemu") applies when the request says none. From a base XML
/// everything is kept to the byte but <name>, <uuid> and our own <instance> element. PCI addresses
/// and ports are left to libvirt. The request is kept in the metadata (instance_request_of()).
/// Does not block. Errors: as check_instance_request(); invalid for a base XML that read_domain()
/// would refuse for anything but a missing name or uuid, that asks for vGPUs itself, whose domain
/// type is another than the one that is said, or that lacks the graphics which a display needs;
/// conflict when it has a device with the alias of a vGPU.
[[nodiscard]] Result<std::string> instance_xml(const InstanceRequest& request, const Uuid& uuid,
                                               std::string_view virt_type = {});

/// `xml` pointed at one device for each of the request's gpus, in their order. All or nothing.
/// Errors: as assignment_of() and with_assignment(); invalid when there are not as many devices as
/// gpus, or one is there twice.
[[nodiscard]] Result<std::string> with_devices(std::string_view xml, const InstanceRequest& request,
                                               const std::vector<DeviceKey>& devices);

/// The type= of a domain: "kvm", "qemu", ...; empty if it says none.
/// Errors: as read_domain() for the document as such.
[[nodiscard]] Result<std::string> virt_type_of(std::string_view xml);

} // namespace vgpu::xml
