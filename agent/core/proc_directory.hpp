#pragma once

#include "agent/core/result.hpp"
#include "agent/core/unique_fd.hpp"

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vgpu {

/// True for the errors of a process that has ended meanwhile.
[[nodiscard]] bool vanished(int error_number);

/// An open directory of /proc. Opened once, and its entries looked at relative to it: a scan of a
/// host makes thousands of such looks, and the way to them would be most of what they cost.
class ProcDirectory {
public:
    /// nullopt if it has vanished.
    [[nodiscard]] static Result<std::optional<ProcDirectory>> open(const std::string& path);

    /// The names in it that are numbers (processes, threads, open files); none if it has vanished
    /// meanwhile.
    [[nodiscard]] Result<std::vector<std::int64_t>> numbers() const;
    /// The target of an entry that is a link, in `buffer`; nullopt if it has vanished.
    [[nodiscard]] Result<std::optional<std::string_view>> read_link(std::int64_t entry,
                                                                    std::string& buffer) const;
    /// The device number of the character device that an entry leads to; nullopt if it leads to
    /// none, or nowhere.
    [[nodiscard]] std::optional<dev_t> character_device(std::int64_t entry) const;

private:
    ProcDirectory(UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

    UniqueFd fd_;
    std::string path_;
};

/// The numbers in a directory; none if it has vanished.
[[nodiscard]] Result<std::vector<std::int64_t>> numeric_names(const std::string& path);

} // namespace vgpu
