#pragma once

#include "agent/core/ids.hpp"
#include "agent/core/result.hpp"

#include <map>
#include <string>
#include <string_view>

namespace vgpu::xml {

struct ForkOptions {
    /// Path of the source's disk -> path of the fork's, of the same format. Read-only disks may be
    /// mapped too.
    std::map<std::string, std::string> disks;
    /// Keep writable disks that are not mapped. Two running domains corrupt such a disk.
    bool share_disks = false;
};

/// The XML of a copy of a domain, still without vGPUs: what the source asks for is kept, and its
/// hostdevs for that are dropped, to be written anew (with_assignment()).
///
/// What belongs to one domain only goes or is renewed: name, uuid, <genid>, the uuid in <sysinfo>,
/// MAC addresses, the NVRAM file (libvirt makes one from the template, so boot entries of the guest
/// are lost), vsock addresses that were automatic. What libvirt adds to a running domain goes:
/// aliases but "ua-", tap names, dynamic labels, paths below its own directories, log files that
/// have the source's name. Every other byte stays, and with it all that is shared knowingly or by
/// mistake: hostdevs that are not ours, and fixed ports and sockets.
///
/// Disks that the guest can write to (neither <readonly/> nor <shareable/>, and no CD-ROM) must be
/// mapped. Does not block. Errors: as read_domain(); invalid for a name as in
/// check_instance_name(), for a status file, for an uuid or name that is the source's; conflict for
/// a writable disk that is not mapped, naming it, and for a path that two disks would have;
/// not_found for a mapped path that is no disk's.
[[nodiscard]] Result<std::string> forked_xml(std::string_view source_xml,
                                             const std::string& new_name, const Uuid& new_uuid,
                                             const ForkOptions& options = {});

} // namespace vgpu::xml
