#include "agent/core/posix_sysfs.hpp"

#include "agent/core/file_io.hpp"
#include "agent/core/unique_fd.hpp"

#include <fmt/format.h>

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>

namespace vgpu {

namespace {

constexpr std::size_t largest_attribute = std::size_t{64} * 1024;

struct CloseDirectory {
    void operator()(DIR* directory) const { ::closedir(directory); }
};

/// An attribute fits into one page and is given whole by one read(2) (the kernel's sysfs.rst), so
/// less than a page is all of it; what does not keep to that is read to its end.
Result<std::string> read_attribute(int fd, const std::string& file) {
    std::array<char, 4096> page{};
    const ssize_t got = uninterrupted([&] { return ::read(fd, page.data(), page.size()); });
    if (got < 0) {
        return fail(Error::system(errno, "read", file));
    }
    std::string content(page.data(), static_cast<std::size_t>(got));
    if (content.size() == page.size()) {
        VGPU_TRY_ASSIGN(const std::string rest,
                        read_descriptor(fd, file, largest_attribute - content.size()));
        content += rest;
    }
    return content;
}

} // namespace

Result<std::string> PosixSysfs::read(const std::string& path) {
    const std::string file = absolute(path);
    const UniqueFd fd(
        uninterrupted([&] { return ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY); }));
    if (!fd) {
        return fail(Error::system(errno, "read", file));
    }
    VGPU_TRY_ASSIGN(std::string content, read_attribute(fd.get(), file));
    content.erase(content.find_last_not_of('\n') + 1);
    return content;
}

Result<void> PosixSysfs::write(const std::string& path, std::string_view data) {
    const std::string file = absolute(path);
    // Neither created nor truncated: a file that is not there must not appear below a moved root.
    const UniqueFd fd(::open(file.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
    if (!fd) {
        return fail(Error::system(errno, "write", file));
    }
    // A driver's store function is called once per write(2): a second one for the rest, or after
    // EINTR, would be another command.
    const ssize_t taken = ::write(fd.get(), data.data(), data.size());
    if (taken < 0) {
        return fail(Error::system(errno, "write", file));
    }
    if (static_cast<std::size_t>(taken) != data.size()) {
        return fail(ErrorCode::io, fmt::format("write {}: only {} of {} bytes were taken", file,
                                               taken, data.size()));
    }
    return {};
}

Result<std::vector<std::string>> PosixSysfs::list(const std::string& path) {
    const std::string name = absolute(path);
    const std::unique_ptr<DIR, CloseDirectory> directory(::opendir(name.c_str()));
    if (!directory) {
        return fail(Error::system(errno, "list", name));
    }
    std::vector<std::string> names;
    while (true) {
        errno = 0;
        const dirent* entry = ::readdir(directory.get());
        if (entry == nullptr) {
            break;
        }
        const std::string_view found(entry->d_name);
        if (found != "." && found != "..") {
            names.emplace_back(found);
        }
    }
    if (errno != 0) {
        return fail(Error::system(errno, "list", name));
    }
    std::sort(names.begin(), names.end());
    return names;
}

Result<std::string> PosixSysfs::read_link(const std::string& path) {
    const std::string link = absolute(path);
    std::array<char, PATH_MAX> target{};
    const ssize_t length = ::readlink(link.c_str(), target.data(), target.size());
    if (length < 0) {
        return fail(Error::system(errno, "read link", link));
    }
    // readlink(2) cuts silently: a full buffer may be half a target.
    if (static_cast<std::size_t>(length) == target.size()) {
        return fail(Error::system(ENAMETOOLONG, "read link", link));
    }
    return std::string(target.data(), static_cast<std::size_t>(length));
}

Result<bool> PosixSysfs::exists(const std::string& path) {
    const std::string name = absolute(path);
    struct stat status{};
    if (::stat(name.c_str(), &status) == 0) {
        return true;
    }
    if (errno == ENOENT || errno == ENOTDIR) {
        return false;
    }
    return fail(Error::system(errno, "look for", name));
}

} // namespace vgpu
