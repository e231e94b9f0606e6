#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace vgpu::test {

/// A fresh directory that is removed, with all that is in it, when the object ends. A mount that is
/// still below it is taken off first.
class TempDir {
public:
    explicit TempDir(std::string_view prefix = "vgpu-test");
    ~TempDir();
    TempDir(const TempDir&) = delete;
    TempDir& operator=(const TempDir&) = delete;

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }
    [[nodiscard]] std::string operator/(std::string_view name) const {
        return (path_ / name).string();
    }

private:
    std::filesystem::path path_;
};

/// The whole file, read with one open; throws std::system_error with the errno of what failed.
std::string read_file(const std::string& path);
/// Creates or replaces a plain file, with its directories. Throws std::system_error.
void write_file(const std::string& path, std::string_view text);
/// One open(2) for writing and one write(2), as a sysfs attribute wants it. 0, or the errno of what
/// failed.
int write_attribute(const std::string& path, std::string_view text);

} // namespace vgpu::test
