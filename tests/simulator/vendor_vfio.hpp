#pragma once

#include "tests/simulator/host.hpp"

namespace vgpu::simulator {

/// The `nvidia/` directory of a VF, or of an mdev. Null device types are not asked for.
Node nvidia_directory(Host& host, const std::shared_ptr<Vf>& vf);

/// Puts a type on a VF behind everybody's back, whether the card can make it or not; nullptr clears
/// it.
void force_type(Vf& vf, const VgpuType* type);

} // namespace vgpu::simulator
