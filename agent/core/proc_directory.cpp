#include "agent/core/proc_directory.hpp"

#include "agent/core/file_io.hpp"

#include <fmt/format.h>

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstring>

namespace vgpu {

namespace {

/// A number as the name of an entry.
class Name {
public:
    explicit Name(std::int64_t number) {
        *std::to_chars(text_.data(), text_.data() + text_.size() - 1, number).ptr = '\0';
    }
    [[nodiscard]] const char* c_str() const { return text_.data(); }

private:
    std::array<char, 24> text_{};
};

void add_numbers(std::string_view entries, std::vector<std::int64_t>& found) {
    while (!entries.empty()) {
        unsigned short length = 0;
        std::memcpy(&length, entries.data() + offsetof(dirent64, d_reclen), sizeof length);
        const char* name = entries.data() + offsetof(dirent64, d_name);
        const char* end = name + std::strlen(name);
        std::int64_t value = 0;
        const auto parsed = std::from_chars(name, end, value);
        if (parsed.ec == std::errc() && parsed.ptr == end) {
            found.push_back(value);
        }
        entries.remove_prefix(length);
    }
}

} // namespace

bool vanished(int error_number) {
    return error_number == ENOENT || error_number == ESRCH;
}

Result<std::optional<ProcDirectory>> ProcDirectory::open(const std::string& path) {
    UniqueFd fd(
        uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
    if (fd) {
        return std::optional(ProcDirectory(std::move(fd), path));
    }
    return vanished(errno) ? Result<std::optional<ProcDirectory>>(std::nullopt)
                           : fail(Error::system(errno, "list", path));
}

Result<std::vector<std::int64_t>> ProcDirectory::numbers() const {
    std::vector<std::int64_t> found;
    alignas(dirent64) std::array<char, 32768> entries; // NOLINT(*-member-init): the kernel fills it
    while (true) {
        const ssize_t size = ::getdents64(fd_.get(), entries.data(), entries.size());
        if (size < 0 && !vanished(errno)) {
            return fail(Error::system(errno, "list", path_));
        }
        if (size <= 0) {
            return found;
        }
        add_numbers({entries.data(), static_cast<std::size_t>(size)}, found);
    }
}

Result<std::optional<std::string_view>> ProcDirectory::read_link(std::int64_t entry,
                                                                 std::string& buffer) const {
    buffer.resize(PATH_MAX);
    const ssize_t size = ::readlinkat(fd_.get(), Name(entry).c_str(), buffer.data(), buffer.size());
    if (size >= 0) {
        return std::optional(std::string_view(buffer).substr(0, static_cast<std::size_t>(size)));
    }
    return vanished(errno)
               ? Result<std::optional<std::string_view>>(std::nullopt)
               : fail(Error::system(errno, "read link", fmt::format("{}/{}", path_, entry)));
}

std::optional<dev_t> ProcDirectory::character_device(std::int64_t entry) const {
    struct stat info{};
    if (::fstatat(fd_.get(), Name(entry).c_str(), &info, 0) != 0 || !S_ISCHR(info.st_mode)) {
        return std::nullopt;
    }
    return info.st_rdev;
}

Result<std::vector<std::int64_t>> numeric_names(const std::string& path) {
    VGPU_TRY_ASSIGN(const auto directory, ProcDirectory::open(path));
    return directory ? directory->numbers() : std::vector<std::int64_t>();
}

} // namespace vgpu
