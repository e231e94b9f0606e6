#pragma once

#include "agent/core/host.hpp"

#include <sys/types.h>

#include <string>

namespace vgpu {

/// Whether the libvirt that started this hook is still there. libvirt tells a hook no incarnation:
/// when it has been killed and started again, a late hook of before would act on the next start of
/// its domain. Sufficient, since a living libvirt holds the domain's mutex for the whole hook, so
/// no other start of that domain is in flight (docs/protocol.md).
class OrphanCheck {
public:
    /// Notes the parent: first thing in the program.
    OrphanCheck();

    /// Error: conflict, if the parent is another now, or is process 1 and that is no libvirt daemon
    /// (it may be one in a container). A script between libvirt and the hook defeats it.
    [[nodiscard]] Result<void> still_wanted() const;

private:
    pid_t parent_;
};

} // namespace vgpu
