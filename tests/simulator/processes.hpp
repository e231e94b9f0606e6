#pragma once

#include "tests/simulator/device.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace vgpu::simulator {

/// An entry of a process's fd directory.
struct OpenFd {
    std::string target;         ///< of the link; "" for an entry that is no link
    std::weak_ptr<Device> held; ///< whose node it is, if any
    VfioNode node = VfioNode::group;
};

using Fds = std::map<int, OpenFd>;

struct Task {
    char state = 'S';
    std::string comm;
};

/// A process that exists only in the simulated /proc.
struct Process {
    pid_t pid = 0;
    pid_t parent = 1;
    unsigned uid = 0;
    std::uint64_t start_time = 0;
    std::string cmdline;         ///< arguments, each ended by a NUL
    Fds fds;                     ///< of all tasks
    std::map<pid_t, Task> tasks; ///< the leader included
    /// Counts down on each access below its directory; at 0 the process has vanished, though a
    /// listing of /proc that was made before may still name it.
    std::optional<std::uint64_t> vanishes_after;

    [[nodiscard]] bool vanished() const { return vanishes_after && *vanishes_after == 0; }
};

using Processes = std::map<pid_t, std::shared_ptr<Process>>;

} // namespace vgpu::simulator
