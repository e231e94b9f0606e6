#pragma once

#include "agent/core/deadline.hpp"
#include "agent/core/result.hpp"

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace vgpu {

/// The attribute files of a kernel or of the simulator, under a root; paths are relative to it.
/// Every error keeps the errno of the system call. No call retries.
class Sysfs {
public:
    virtual ~Sysfs() = default;
    Sysfs() = default;
    Sysfs(const Sysfs&) = delete;
    Sysfs& operator=(const Sysfs&) = delete;

    /// The root that paths are relative to, e.g. "/sys".
    [[nodiscard]] virtual const std::string& root() const = 0;
    /// The content, at most 64 KiB, trailing newlines removed. May block for as long as the driver
    /// does.
    [[nodiscard]] virtual Result<std::string> read(const std::string& path) = 0;
    /// One write(2) of `data`, as a sysfs attribute wants it. May block for as long as the driver
    /// does.
    [[nodiscard]] virtual Result<void> write(const std::string& path, std::string_view data) = 0;
    /// Names in a directory without "." and "..", sorted.
    [[nodiscard]] virtual Result<std::vector<std::string>> list(const std::string& path) = 0;
    /// The target of a symbolic link, as written in it.
    [[nodiscard]] virtual Result<std::string> read_link(const std::string& path) = 0;
    /// True if the path exists. Errors other than absence are errors.
    [[nodiscard]] virtual Result<bool> exists(const std::string& path) = 0;

    /// Accesses from now on end by then, where the implementation can end one; never later than
    /// what it was made for.
    virtual void set_deadline(Deadline deadline) { static_cast<void>(deadline); }

    /// Reads and writes are about to come: what they need may be set up meanwhile.
    virtual void get_ready() {}

    [[nodiscard]] std::string absolute(const std::string& path) const {
        return root() + "/" + path;
    }
};

} // namespace vgpu
