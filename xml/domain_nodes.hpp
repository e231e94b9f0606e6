#pragma once

#include "agent/core/ids.hpp"
#include "agent/core/result.hpp"
#include "xml/domain.hpp"
#include "xml/xml_document.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// What the reader and the editor of domain XML share; outside xml/ only domain.hpp is used.
namespace vgpu::xml {

/// The <domain> of a document: its root, or the child of a root <domstatus>.
[[nodiscard]] Result<xmlNode*> domain_node(const Document& document);

/// read_domain() of a document that is parsed already.
[[nodiscard]] Result<DomainView> read_view(const Document& document);

/// Our element in the domain's metadata, or null. libvirt looks at the first <metadata> only and
/// keeps the first element of each namespace in it (virXMLNodeSanitizeNamespaces), so this is what
/// survives a define.
[[nodiscard]] xmlNode* metadata_devices(xmlNode* domain);
/// True for an element of our namespace.
[[nodiscard]] bool is_ours(const xmlNode* node);
/// True for a <device> of our metadata.
[[nodiscard]] bool is_device(const xmlNode* node);
/// Fills the parts of `view` that come from our metadata.
[[nodiscard]] Result<void> read_metadata(const Document& document, xmlNode* domain,
                                         DomainView& view);
/// Error: invalid, unless name, profile and params are fit to be written.
[[nodiscard]] Result<void> check_request(const VgpuRequest& request);

[[nodiscard]] Result<Hostdev> read_hostdev(const Document& document, const xmlNode* hostdev);
/// The name= of the element's <alias>, empty if there is none.
[[nodiscard]] std::string alias_of(const xmlNode* device);
/// A number as libvirt reads those of a PCI address: 0x is hexadecimal, a leading 0 octal, else
/// decimal.
[[nodiscard]] std::optional<std::uint32_t> libvirt_number(const std::string& text);
/// A UUID as libvirt reads it: spaces around and spaces and dashes inside do not matter.
[[nodiscard]] std::optional<Uuid> libvirt_uuid(std::string_view text);

/// The alias that ties a hostdev to the request `name`. libvirt keeps aliases of devices across
/// define and start only if they begin with "ua-".
[[nodiscard]] std::string alias_for(std::string_view name);

} // namespace vgpu::xml
