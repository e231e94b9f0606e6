#pragma once

#include "agent/core/prepare.hpp"

#include <vector>

namespace vgpu {

/// One reserved device.
struct Reservation {
    DeviceKey device;
    Uuid incarnation;
};

/// Steps D1 to D3 of docs/protocol.md: claims the devices of a domain, state `claimed`, before
/// libvirt is asked to start it, so that nobody else takes them in between. All or none. A claim of
/// the domain's own, left by an earlier run, is left to prepare and not in the result. Hardware is
/// not touched. Blocks up to the deadline for the locks, which are given back. Error: conflict,
/// naming the device and the domain that has it; timeout.
[[nodiscard]] Result<std::vector<Reservation>> reserve(Host& host, const PrepareRequest& request,
                                                       Deadline deadline);

/// Steps D5 and D6: removes the claims of these incarnations, which nothing was written under. A
/// claim that prepare has replaced has another incarnation and is left alone. What cannot be
/// removed is noted and stays for the reconciler. Returns how many reservations were still there.
int drop_reservations(Host& host, const std::vector<Reservation>& reservations, Deadline deadline);

} // namespace vgpu
