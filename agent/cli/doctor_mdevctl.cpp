#include "agent/cli/doctor.hpp"
#include "agent/core/file_io.hpp"
#include "agent/core/posix_sysfs.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace vgpu::cli {

namespace {

/// True if mdevctl makes the mdev whenever its parent appears. A file that cannot be read as one of
/// its definitions is none.
bool is_automatic(const std::string& file) {
    constexpr std::size_t most = std::size_t{1} << 20U;
    const auto text = read_small_file(file, most);
    const auto json = nlohmann::json::parse(text.value_or(""), nullptr, false);
    if (!json.is_object()) {
        return false;
    }
    const auto start = json.find("start");
    return start != json.end() && *start == "auto";
}

bool is_managed_parent(const Inventory& inventory, const PciAddress& parent) {
    return std::any_of(inventory.devices.begin(), inventory.devices.end(),
                       [&parent](const DeviceInfo& device) {
                           return device.function == parent && device.managed;
                       });
}

} // namespace

void check_mdevctl(const Examination& examination, Findings& findings) {
    PosixSysfs definitions(examination.mdevctl_directory);
    const auto parents = definitions.list("");
    if (!parents) {
        return; // mdevctl is not there
    }
    for (const std::string& parent : *parents) {
        const auto address = PciAddress::parse(parent);
        const auto mdevs = definitions.list(parent);
        if (!address || !mdevs || !is_managed_parent(examination.inventory, *address)) {
            continue;
        }
        for (const std::string& mdev : *mdevs) {
            if (Uuid::parse(mdev) && is_automatic(definitions.absolute(parent + "/" + mdev))) {
                findings.warn(
                    "mdevctl",
                    fmt::format("mdevctl makes mdev {} on {} by itself, which is managed by "
                                "virt-vgpu",
                                mdev, parent),
                    fmt::format("mdevctl modify -u {} -p {} --manual, or list the parent in "
                                "[gpus] ignored",
                                mdev, parent));
            }
        }
    }
}

} // namespace vgpu::cli
