#include "agent/core/vendor_vfio.hpp"

#include "agent/core/topology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <thread>

namespace vgpu {

namespace {

using std::chrono::milliseconds;

std::string attribute(const PciAddress& vf, const char* name) {
    return pci_path(vf) + "/nvidia/" + name;
}

Error refused(const Error& error) {
    const std::string_view reason = driver_reason(error.error_number());
    return reason.empty() ? error : error.hint(reason);
}

/// Refusals that are known to pass while the kernel still tears a VMM down.
bool passes(int error_number) {
    return error_number == EPERM || error_number == EBUSY || error_number == EAGAIN;
}

} // namespace

std::string VendorVfio::path(const DeviceKey& key) const {
    return pci_path(key.pci());
}

Result<std::uint32_t> VendorVfio::type(const DeviceKey& key) {
    const std::string file = attribute(key.pci(), "current_vgpu_type");
    VGPU_TRY_ASSIGN(const std::string text, sysfs_.read(file));
    std::uint32_t id = 0;
    const char* end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, id);
    if (parsed.ec != std::errc() || parsed.ptr != end) {
        return fail(ErrorCode::corrupt, fmt::format("{} reads \"{}\", which is no type id",
                                                    sysfs_.absolute(file), printable(text, 40)));
    }
    return id;
}

Result<std::vector<VgpuType>> VendorVfio::creatable(const PciAddress& function) {
    const std::string file = attribute(function, "creatable_vgpu_types");
    VGPU_TRY_ASSIGN(const std::string text, sysfs_.read(file));
    auto types = parse_creatable_types(text);
    if (!types) {
        return fail(types.error().in(sysfs_.absolute(file)));
    }
    return types;
}

Result<void> VendorVfio::create(const DeviceLock& lock, const PciAddress& function,
                                const VgpuType& type, const std::string& params) {
    // Bare decimal without newline: the form that peers have used on real hosts.
    const auto written =
        sysfs_.write(attribute(function, "current_vgpu_type"), std::to_string(type.id));
    if (!written && written.error().code() == ErrorCode::timeout) {
        return written;
    }
    const auto now = this->type(lock.key());
    if (!written) {
        return fail(refused(written.error()));
    }
    if (!now) {
        return fail(now.error());
    }
    if (*now != type.id) {
        return fail(ErrorCode::io, fmt::format("{} took type {} ({}) but reads back {}",
                                               function.to_string(), type.id, type.name, *now));
    }
    if (params.empty()) {
        return {};
    }
    const auto set = sysfs_.write(attribute(function, "vgpu_params"), params);
    if (!set) {
        return fail(set.error().hint(
            "check the params= of the domain's request against the driver's documentation"));
    }
    return {};
}

Result<void> VendorVfio::reset(const DeviceLock& lock, Deadline deadline, milliseconds) {
    const PciAddress& vf = lock.key().pci();
    VGPU_TRY_ASSIGN(const bool present, sysfs_.exists(pci_path(vf)));
    if (!present) {
        return absence_counts(sysfs_); // a VF that no longer exists comes back without a type
    }
    milliseconds pause(10);
    while (true) {
        const auto written = sysfs_.write(attribute(vf, "current_vgpu_type"), "0");
        if (!written && written.error().code() == ErrorCode::timeout) {
            return written;
        }
        VGPU_TRY_ASSIGN(const std::uint32_t now, type(lock.key()));
        if (now == 0) {
            return {};
        }
        const bool may_pass = written || passes(written.error().error_number());
        if (!may_pass || deadline.passed()) {
            return fail(written ? Error(ErrorCode::busy,
                                        fmt::format("{} took a reset but still reads type {}",
                                                    vf.to_string(), now))
                                : refused(written.error()));
        }
        std::this_thread::sleep_for(std::min(pause, deadline.remaining()));
        pause = std::min(pause * 2, milliseconds(250));
    }
}

} // namespace vgpu
