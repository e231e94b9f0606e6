#pragma once

#include "agent/core/ids.hpp"
#include "agent/core/result.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vgpu::xml {

/// One <vgpu:device> of our metadata: what the domain asks for.
struct VgpuRequest {
    std::string name;              ///< "vgpu0"; its hostdev carries the alias "ua-vgpu0"
    std::string profile;           ///< as written
    std::optional<PciAddress> gpu; ///< PF to take it from, if asked
    std::string params;            ///< vgpu_params, empty if none
    bool operator==(const VgpuRequest&) const = default;
};

/// One <hostdev> of the domain: a PCI function, an mdev, or another kind that is only counted.
struct Hostdev {
    enum class Type : std::uint8_t { pci, mdev, other } type = Type::other;
    std::optional<PciAddress> address; ///< pci
    std::optional<Uuid> uuid;          ///< mdev
    bool managed = false;              ///< managed='yes'; absent means no
    std::string alias;                 ///< empty if none
    std::string other_type;            ///< "usb", "scsi", ... for Type::other
    bool operator==(const Hostdev&) const = default;
};

/// What the agent needs to know of a domain's XML.
struct DomainView {
    Uuid uuid;
    std::string name;
    bool has_request = false;           ///< our metadata element is there
    std::optional<Uuid> request_domain; ///< its domain= attribute; differs from uuid in a clone
    std::vector<VgpuRequest> requests;
    std::vector<Hostdev> hostdevs; ///< in document order
    /// For people: what libvirt would silently drop, and what was therefore not read.
    std::vector<std::string> notes;

    /// The pci or mdev hostdev of a request, by its alias "ua-<name>"; null if there is none.
    [[nodiscard]] const Hostdev* hostdev_of(const VgpuRequest& request) const;
    /// True if the metadata was written for another domain, as in a copy made by virt-clone.
    [[nodiscard]] bool is_copy() const {
        return request_domain.has_value() && *request_domain != uuid;
    }
};

inline constexpr std::size_t max_domain_xml_bytes = 4UL * 1024 * 1024;
inline constexpr int max_domain_xml_depth = 64;
/// An NVIDIA guest takes at most 16 vGPUs.
inline constexpr std::size_t max_requests = 64;
inline constexpr const char* metadata_namespace = "urn:virt-vgpu:domain:1";

/// True if the text could hold anything of interest: a hostdev, or our metadata. A cheap look at
/// the bytes, without parsing; never false for a document that read_domain() finds a pci or mdev
/// hostdev or a request in, and true for whatever cannot be judged this way (no XML, another
/// encoding).
[[nodiscard]] bool may_concern_us(std::string_view xml);

/// Reads a <domain>, or the <domain> inside a <domstatus>, in UTF-8. Untrusted input: no network,
/// no file, no DTD, no entities beyond the five predefined, at most max_domain_xml_bytes and
/// max_domain_xml_depth, and the bounds in markup.hpp on elements, attributes and namespaces.
/// Unknown elements and unknown hostdev types are tolerated. PCI addresses and UUIDs are read as
/// libvirt reads them ('0x10' is 16, '010' is 8, an absent field is 0), but the gpu= of a request
/// is a whole address, see PciAddress::parse(). Of several metadata elements of our namespace
/// libvirt keeps the first; so does this, and says so in `notes`. Does not block, prints nothing.
/// Errors: invalid, saying what and where (never echoing secrets of the XML): not well-formed, not
/// a domain, no valid uuid or name, a request without name or profile, a name used twice or unfit
/// for an alias, an alias of a request on two hostdevs, more than max_requests, a bad address in a
/// pci or mdev hostdev.
[[nodiscard]] Result<DomainView> read_domain(std::string_view xml);

/// The device that a request is pointed at.
struct Assignment {
    VgpuRequest request;
    DeviceKey device;
    /// mdev only: display='on'. False leaves the display= of an mdev hostdev that is there as it
    /// is.
    bool display = false;
    /// With `display` only: ramfb='on', a framebuffer for firmware and boot loader. libvirt allows
    /// one in a domain. False leaves it as it is.
    bool ramfb = false;
};

/// `xml` with the assignment added or replaced: its metadata device (and the metadata element, with
/// domain= set to the domain's own uuid) and its hostdev with alias ua-<name>, managed='no',
/// <driver name='vfio'/> for pci. Every byte outside the touched elements and attributes stays as
/// it was; applied twice it changes nothing the second time. A replaced hostdev keeps its place,
/// its guest <address>, <boot> and <rom>, except what libvirt refuses for the new kind (no <boot>
/// for an mdev). A new one has no guest address: a fixed one would be copied with the domain. The
/// result was read back and says what was asked for. Does not block. Errors: as read_domain();
/// invalid also for a request that read_domain() would refuse and for an alias that another kind of
/// device has; unsupported for a display on a PCI function, on which libvirt takes none
/// before 10.3; conflict when a hostdev that belongs to no request already names the device.
[[nodiscard]] Result<std::string> with_assignment(std::string_view xml,
                                                  const Assignment& assignment);

/// `xml` without the request `name` and its hostdev; without our metadata element when it was the
/// last one (and without <metadata> if that is then empty). Undoes with_assignment() to the byte.
/// Does not block. Error: not_found when there is no such request; otherwise as read_domain().
[[nodiscard]] Result<std::string> without_assignment(std::string_view xml, std::string_view name);

} // namespace vgpu::xml
