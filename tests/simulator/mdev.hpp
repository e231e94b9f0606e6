#pragma once

#include "tests/simulator/host.hpp"

namespace vgpu::simulator {

/// What an mdev type's `create` does with what was written to it. 0 or an errno value.
int create_mdev(Host& host, Call& call, const std::shared_ptr<PciFunction>& parent,
                std::uint32_t type, std::string_view text);

/// What an mdev's `remove` does. It waits for the last user, as the kernel does.
int remove_mdev(Host& host, Call& call, const std::shared_ptr<Mdev>& mdev, std::string_view text);

} // namespace vgpu::simulator
