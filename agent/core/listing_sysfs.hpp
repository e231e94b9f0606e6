#pragma once

#include "agent/core/bounded_sysfs.hpp"

#include <chrono>
#include <memory>
#include <set>
#include <string>

namespace vgpu {

/// A Sysfs for looking at a whole host. A driver that does not come back from an attribute of one
/// device costs `patience` once; after that this device alone fails, at once, and the others are
/// looked at by a new process. When `most_lost` devices have been lost, or the deadline has passed,
/// every read fails at once. For one thread.
class ListingSysfs final : public Sysfs {
public:
    ListingSysfs(Sysfs& inner, Deadline deadline,
                 std::chrono::milliseconds patience = std::chrono::milliseconds(1500));

    const std::string& root() const override { return inner_.root(); }
    Result<std::string> read(const std::string& path) override;
    /// Always refused: lists change nothing.
    Result<void> write(const std::string& path, std::string_view data) override;
    Result<std::vector<std::string>> list(const std::string& path) override {
        return inner_.list(path);
    }
    Result<std::string> read_link(const std::string& path) override {
        return inner_.read_link(path);
    }
    Result<bool> exists(const std::string& path) override { return inner_.exists(path); }

    static constexpr std::size_t most_lost = 8;

private:
    Sysfs& inner_;
    Deadline deadline_;
    std::chrono::milliseconds patience_;
    std::unique_ptr<BoundedSysfs> bounded_;
    std::set<std::string> lost_; ///< the devices that have not come back
};

} // namespace vgpu
