#pragma once

#include "agent/core/proc.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace vgpu {

/// Who has which device nodes open.
struct HolderScan {
    std::map<std::string, Process> holders; ///< node -> a process that has it open
    /// Something could not be read: a node without a holder is then not known to be free.
    std::optional<Error> incomplete;
};

/// Which holders a scan looks for: one of every node, or just any.
enum class Holders { of_each, any };

/// Looks for the holders of many device nodes at once, by one pass over all open files of all
/// processes, threads of zombie leaders included. Compares the paths of the open files, also with "
/// (deleted)" behind, and the device numbers, since a VMM may live in another mount namespace.
/// Opens no node, so it disturbs nobody. A process that cannot be read hides only its own files:
/// the pass goes on and says that it is incomplete. Does not block.
[[nodiscard]] HolderScan scan_holders(const Proc& proc, const std::vector<std::string>& nodes,
                                      Holders wanted = Holders::of_each);

} // namespace vgpu
