#pragma once

#include "agent/core/sysfs.hpp"

namespace vgpu {

/// Sysfs by plain system calls below a root directory.
class PosixSysfs final : public Sysfs {
public:
    explicit PosixSysfs(std::string root) : root_(std::move(root)) {}

    const std::string& root() const override { return root_; }
    Result<std::string> read(const std::string& path) override;
    Result<void> write(const std::string& path, std::string_view data) override;
    Result<std::vector<std::string>> list(const std::string& path) override;
    Result<std::string> read_link(const std::string& path) override;
    Result<bool> exists(const std::string& path) override;

private:
    std::string root_;
};

} // namespace vgpu
