#include "agent/reconcile/instance_owner.hpp"

#include <utility>

namespace vgpu {

Result<FileLock> become_instance_owner(const Config::Paths& paths) {
    const std::string path = paths.runtime + "/daemon.lock";
    VGPU_TRY_ASSIGN(auto lock, FileLock::try_lock(path));
    if (!lock) {
        return fail(ErrorCode::busy, "virt-vgpud, or another `virt-vgpu reconcile`, is running "
                                     "(it holds " +
                                         path + ")");
    }
    return std::move(*lock);
}

} // namespace vgpu
