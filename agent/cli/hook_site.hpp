#pragma once

#include "agent/core/result.hpp"

#include <ctime>
#include <string>
#include <vector>

namespace vgpu::cli {

/// A file that libvirt may run as a qemu hook.
struct HookEntry {
    std::string path;   ///< as libvirt finds it
    std::string target; ///< what it leads to in the end; the path itself if it is no link
    bool is_link = false;
    bool dangling = false;   ///< it leads nowhere
    bool is_regular = false; ///< libvirt runs regular files only
    bool executable = false; ///< any x bit, as libvirt asks
    bool is_program = false; ///< ELF, not a script
    bool about_gpus = false; ///< a script that speaks of VFIO, mdevs, SR-IOV or NVIDIA
    std::time_t changed = 0; ///< when entry or target last changed, the later of both

    /// libvirt would run it.
    [[nodiscard]] bool runs() const { return is_regular && executable; }
};

/// The entries that libvirt would look at for the qemu driver below a hooks directory: `qemu`, then
/// all of `qemu.d`, by name. A missing directory has none. Error: one that cannot be listed.
[[nodiscard]] Result<std::vector<HookEntry>> hook_entries(const std::string& hooks_directory);

} // namespace vgpu::cli
