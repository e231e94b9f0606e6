#pragma once

#include "agent/core/config.hpp"
#include "agent/core/ids.hpp"
#include "agent/core/result.hpp"

#include <set>
#include <string>

namespace vgpu {

/// Devices whose last VMM was killed by SIGKILL while its vGPU may still have been initialising:
/// such a VF can be wedged until SR-IOV is switched off and on again, which at the latest a reboot
/// does. Placement takes them last. One file `<state>/suspects/<key>` each, whose content is the
/// boot it was written in, then a line for people; one of another boot means nothing.

/// Durable when it returns. Blocks for the disk. Error: as replace_file().
[[nodiscard]] Result<void> mark_suspect(const Config::Paths& paths, const DeviceKey& device,
                                        const std::string& boot_id, const std::string& why);
/// Takes the mark away, if there is one: the device has served since, or a person says it is good.
[[nodiscard]] Result<void> clear_suspect(const Config::Paths& paths, const DeviceKey& device);
/// The devices marked in this boot. What cannot be read is left out: a mark only moves a device to
/// the end of a list.
[[nodiscard]] std::set<DeviceKey> suspects(const Config::Paths& paths, const std::string& boot_id);

} // namespace vgpu
