#include "agent/daemon/host_look.hpp"

#include "agent/core/host_session.hpp"

#include <algorithm>
#include <utility>

namespace vgpu {

Result<Inventory> look_at_host(const Site& site, Notes note) {
    constexpr std::chrono::seconds budget(10);
    VGPU_TRY_ASSIGN(const auto session, HostSession::open(site.config, HostSession::Purpose::look,
                                                          budget, std::move(note)));
    return session->look();
}

std::uint64_t claimed_framebuffer_mib(const Inventory& inventory, const GpuInfo& gpu,
                                      const std::vector<ProfileInfo>& profiles) {
    std::uint64_t sum = 0;
    for (const DeviceInfo& row : inventory.devices) {
        if (row.gpu != gpu.address || !row.allocated()) {
            continue;
        }
        const std::string& name = row.profile.empty() && row.claim && row.claim->claim
                                      ? row.claim->claim->profile
                                      : row.profile;
        const auto found =
            std::find_if(profiles.begin(), profiles.end(),
                         [&name](const ProfileInfo& profile) { return profile.type.name == name; });
        sum += found == profiles.end() ? 0 : found->framebuffer_mib;
    }
    return sum;
}

} // namespace vgpu
