#include "agent/core/mdev.hpp"

#include "agent/core/topology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <thread>

namespace vgpu {

namespace {

using std::chrono::milliseconds;

/// "nvidia-742" -> 742. The part before the dash is the name of the driver and may hold dashes
/// itself.
std::optional<std::uint32_t> type_number(std::string_view directory) {
    const std::size_t dash = directory.rfind('-');
    if (dash == std::string_view::npos) {
        return std::nullopt;
    }
    std::uint32_t id = 0;
    const char* end = directory.data() + directory.size();
    const auto parsed = std::from_chars(directory.data() + dash + 1, end, id);
    if (parsed.ec != std::errc() || parsed.ptr != end) {
        return std::nullopt;
    }
    return id;
}

std::string types_path(const PciAddress& function) {
    return pci_path(function) + "/mdev_supported_types";
}

Error refused(const Error& error) {
    const std::string_view reason = driver_reason(error.error_number());
    return reason.empty() ? error : error.hint(reason);
}

} // namespace

std::string Mdev::path(const DeviceKey& key) const {
    return "bus/mdev/devices/" + key.mdev().to_string();
}

Result<std::uint32_t> Mdev::type(const DeviceKey& key) {
    const std::string device = path(key);
    VGPU_TRY_ASSIGN(const bool present, sysfs_.exists(device));
    if (!present) {
        return 0U;
    }
    const auto link = sysfs_.read_link(device + "/mdev_type");
    if (!link) {
        return fail(link.error());
    }
    const auto id = type_number(link->substr(link->rfind('/') + 1));
    if (!id || *id == 0) {
        return fail(ErrorCode::corrupt,
                    fmt::format("{}/mdev_type names no type", sysfs_.absolute(device)));
    }
    return *id;
}

Result<std::vector<VgpuType>> Mdev::types(const PciAddress& function, bool only_available) {
    const std::string directory = types_path(function);
    VGPU_TRY_ASSIGN(const auto names, sysfs_.list(directory));
    std::vector<VgpuType> found;
    for (const std::string& name : names) {
        const auto id = type_number(name);
        if (!id) {
            continue;
        }
        const std::string type = directory + "/" + name;
        if (only_available) {
            VGPU_TRY_ASSIGN(const std::string available,
                            sysfs_.read(type + "/available_instances"));
            if (available.empty() || available == "0") {
                continue;
            }
        }
        // `name` is optional: older kernels and some drivers have none.
        const auto title = sysfs_.read(type + "/name");
        found.push_back({*id, title && !title->empty() ? *title : name});
    }
    return found;
}

Result<std::vector<VgpuType>> Mdev::creatable(const PciAddress& function) {
    return types(function, true);
}

Result<std::vector<VgpuType>> Mdev::supported(const PciAddress& function) {
    return types(function, false);
}

Result<std::optional<PciAddress>> Mdev::parent(const Uuid& mdev) {
    // The link reads ".../<parent address>/<uuid>".
    const auto link = sysfs_.read_link("bus/mdev/devices/" + mdev.to_string());
    if (!link) {
        if (link.error().error_number() == ENOENT) {
            return std::optional<PciAddress>();
        }
        return fail(link.error());
    }
    const std::size_t end = link->rfind('/');
    const std::size_t begin = end == std::string::npos ? end : link->rfind('/', end - 1);
    if (begin == std::string::npos) {
        return fail(ErrorCode::corrupt,
                    fmt::format("the link of mdev {} names no parent", mdev.to_string()));
    }
    VGPU_TRY_ASSIGN(const PciAddress address,
                    PciAddress::parse(std::string_view(*link).substr(begin + 1, end - begin - 1)));
    return std::optional(address);
}

Result<std::string> Mdev::type_directory(const PciAddress& function, std::uint32_t id) {
    const std::string directory = types_path(function);
    VGPU_TRY_ASSIGN(const auto names, sysfs_.list(directory));
    for (const std::string& name : names) {
        if (type_number(name) == id) {
            return directory + "/" + name;
        }
    }
    return fail(ErrorCode::not_found,
                fmt::format("{} has no mdev type {}", function.to_string(), id));
}

Result<void> Mdev::create(const DeviceLock& lock, const PciAddress& function, const VgpuType& type,
                          const std::string& params) {
    const Uuid& mdev = lock.key().mdev();
    VGPU_TRY_ASSIGN(const std::string directory, type_directory(function, type.id));
    const auto written = sysfs_.write(directory + "/create", mdev.to_string());
    if (!written) {
        return fail(refused(written.error()));
    }
    VGPU_TRY_ASSIGN(const std::uint32_t now, this->type(lock.key()));
    VGPU_TRY_ASSIGN(const auto where, parent(mdev));
    if (now != type.id || where != function) {
        return fail(ErrorCode::io,
                    fmt::format("mdev {} was created as type {} on {} but is type {} on {}",
                                mdev.to_string(), type.id, function.to_string(), now,
                                where ? where->to_string() : "nothing"));
    }
    if (params.empty()) {
        return {};
    }
    // With a newline, as oVirt's vdsm writes it for this framework.
    const auto set = sysfs_.write(path(lock.key()) + "/nvidia/vgpu_params", params + "\n");
    if (!set) {
        return fail(set.error().hint(
            "check the params= of the domain's request against the driver's documentation"));
    }
    return {};
}

milliseconds Mdev::self_removal() {
    if (config_.mdev.self_removal >= milliseconds(0)) {
        return config_.mdev.self_removal;
    }
    const auto version = sysfs_.read("module/nvidia/version");
    const bool removes =
        version && (version->starts_with("510.108") || version->starts_with("525."));
    return removes ? milliseconds(10000) : milliseconds(0);
}

Result<bool> Mdev::wait_until_gone(const std::string& device, Deadline deadline) {
    milliseconds pause(5);
    while (true) {
        VGPU_TRY_ASSIGN(const bool present, sysfs_.exists(device));
        if (!present) {
            return true;
        }
        if (deadline.passed()) {
            return false;
        }
        std::this_thread::sleep_for(std::min(pause, deadline.remaining()));
        pause = std::min(pause * 2, milliseconds(250));
    }
}

Result<void> Mdev::reset(const DeviceLock& lock, Deadline deadline, milliseconds idle_for) {
    const std::string device = path(lock.key());
    const milliseconds wait = std::max(self_removal() - idle_for, milliseconds(0));
    VGPU_TRY_ASSIGN(const bool removed_itself, wait_until_gone(device, deadline.within(wait)));
    if (removed_itself) {
        return absence_counts(sysfs_);
    }
    if (wait > milliseconds(0) && deadline.passed()) {
        return fail(ErrorCode::busy,
                    fmt::format("the driver is still given time to remove mdev {} itself",
                                lock.key().device()));
    }
    milliseconds pause(10);
    while (true) {
        const auto written = sysfs_.write(device + "/remove", "1");
        if (!written && written.error().code() == ErrorCode::timeout) {
            return written;
        }
        // Removal takes the file away before it returns; a second writer meets ENOENT
        // (mdev_sysfs.c).
        const int why = written ? 0 : written.error().error_number();
        const bool may_pass =
            written || why == ENOENT || why == EAGAIN || why == EBUSY || why == EPERM;
        VGPU_TRY_ASSIGN(
            const bool gone,
            wait_until_gone(device, deadline.within(may_pass ? pause : milliseconds(0))));
        if (gone) {
            return {};
        }
        if (!may_pass || deadline.passed()) {
            return fail(written ? Error(ErrorCode::busy,
                                        fmt::format("mdev {} took its removal but is still there",
                                                    lock.key().device()))
                                : refused(written.error()));
        }
        pause = std::min(pause * 2, milliseconds(250));
    }
}

} // namespace vgpu
