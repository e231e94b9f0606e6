#include "agent/core/listing_sysfs.hpp"

#include <fmt/format.h>

namespace vgpu {

ListingSysfs::ListingSysfs(Sysfs& inner, Deadline deadline, std::chrono::milliseconds patience)
    : inner_(inner), deadline_(deadline), patience_(patience) {}

Result<std::string> ListingSysfs::read(const std::string& path) {
    const std::string device = device_of_attribute(path);
    if (lost_.contains(device)) {
        return fail(ErrorCode::timeout,
                    fmt::format("read {}: not tried, the driver has not come back from an earlier "
                                "look at this device",
                                absolute(path)));
    }
    if (lost_.size() >= most_lost || deadline_.passed()) {
        return fail(ErrorCode::timeout,
                    fmt::format("read {}: not tried, too much time was lost on other devices",
                                absolute(path)));
    }
    if (!bounded_ || bounded_->stuck()) {
        bounded_ = std::make_unique<BoundedSysfs>(inner_, deadline_, nullptr);
    }
    bounded_->set_deadline(deadline_.within(patience_));
    auto content = bounded_->read(path);
    if (bounded_->stuck()) {
        lost_.insert(device);
    }
    return content;
}

Result<void> ListingSysfs::write(const std::string& path, std::string_view) {
    return fail(ErrorCode::denied, fmt::format("write {}: a list changes nothing", absolute(path)));
}

} // namespace vgpu
