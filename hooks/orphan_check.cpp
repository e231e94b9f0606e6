#include "hooks/orphan_check.hpp"

#include "agent/core/file_io.hpp"

#include <unistd.h>

namespace vgpu {

namespace {

bool process_1_is_libvirt() {
    // The kernel's own /proc, whatever root the configuration names: it is this process's parent
    // that is meant.
    const auto name = read_small_file("/proc/1/comm", 64);
    return name && (*name == "libvirtd\n" || *name == "virtqemud\n");
}

} // namespace

OrphanCheck::OrphanCheck() : parent_(::getppid()) {}

Result<void> OrphanCheck::still_wanted() const {
    const pid_t now = ::getppid();
    if (now != parent_ || (now == 1 && !process_1_is_libvirt())) {
        return fail(ErrorCode::conflict,
                    "the libvirt daemon that started this hook is gone: nothing is changed");
    }
    return {};
}

} // namespace vgpu
