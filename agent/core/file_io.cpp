#include "agent/core/file_io.hpp"

#include "agent/core/ids.hpp"
#include "agent/core/unique_fd.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

namespace vgpu {

namespace {

constexpr std::size_t first_read = 4096;

/// The name of a file that exists until it is released: unlinked when an error returns early.
class TemporaryName {
public:
    explicit TemporaryName(std::string path) : path_(std::move(path)) {}
    TemporaryName(const TemporaryName&) = delete;
    TemporaryName& operator=(const TemporaryName&) = delete;
    ~TemporaryName() {
        if (!path_.empty()) {
            ::unlink(path_.c_str());
        }
    }
    void release() { path_.clear(); }

private:
    std::string path_;
};

struct SplitPath {
    std::string directory;
    std::string name;
};

SplitPath split(const std::string& path) {
    const auto slash = path.rfind('/');
    if (slash == std::string::npos) {
        return {".", path};
    }
    return {slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
}

/// Content, mode and durability of the temporary file.
Result<void> fill(int fd, std::string_view content, mode_t mode, const std::string& path) {
    VGPU_TRY(write_all(fd, content, path));
    if (::fchmod(fd, mode) != 0) {
        return fail(Error::system(errno, "set the mode of", path));
    }
    if (uninterrupted([&] { return ::fsync(fd); }) != 0) {
        return fail(Error::system(errno, "synchronise", path));
    }
    return {};
}

} // namespace

Result<void> write_all(int fd, std::string_view content, const std::string& path) {
    while (!content.empty()) {
        const ssize_t taken =
            uninterrupted([&] { return ::write(fd, content.data(), content.size()); });
        if (taken < 0) {
            return fail(Error::system(errno, "write", path));
        }
        content.remove_prefix(static_cast<std::size_t>(taken));
    }
    return {};
}

Result<void> sync_directory(const std::string& directory) {
    const UniqueFd fd(uninterrupted(
        [&] { return ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
    if (!fd || uninterrupted([&] { return ::fsync(fd.get()); }) != 0) {
        return fail(Error::system(errno, "synchronise directory", directory));
    }
    return {};
}

Result<std::string> read_descriptor(int fd, const std::string& path, std::size_t limit) {
    std::string content;
    std::size_t used = 0;
    while (true) {
        if (used > limit) {
            return fail(ErrorCode::corrupt,
                        fmt::format("read {}: it is larger than {} bytes", path, limit));
        }
        if (used == content.size()) {
            content.resize(std::min(std::max(first_read, used * 2), limit + 1));
        }
        const ssize_t got =
            uninterrupted([&] { return ::read(fd, content.data() + used, content.size() - used); });
        if (got < 0) {
            return fail(Error::system(errno, "read", path));
        }
        if (got == 0) {
            content.resize(used);
            return content;
        }
        used += static_cast<std::size_t>(got);
    }
}

Result<std::string> read_small_file(const std::string& path, std::size_t limit, Links links) {
    // O_NONBLOCK: opening a FIFO would otherwise wait for its writer. It means nothing to a file.
    const int flags =
        O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | (links == Links::refuse ? O_NOFOLLOW : 0);
    const UniqueFd fd(uninterrupted([&] { return ::open(path.c_str(), flags); }));
    struct stat status{};
    if (!fd || ::fstat(fd.get(), &status) != 0) {
        return fail(Error::system(errno, "read", path));
    }
    if (S_ISDIR(status.st_mode)) {
        return fail(Error::system(EISDIR, "read", path));
    }
    if (!S_ISREG(status.st_mode)) {
        return fail(ErrorCode::invalid, fmt::format("read {}: not a regular file", path));
    }
    return read_descriptor(fd.get(), path, limit);
}

Result<void> replace_file(const std::string& path, std::string_view content, mode_t mode) {
    const auto [directory, name] = split(path);
    const std::string temporary =
        fmt::format("{}/.{}.{}.tmp", directory, name, Uuid::random().to_string());
    const UniqueFd fd(uninterrupted([&] {
        return ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                      0600);
    }));
    if (!fd) {
        return fail(Error::system(errno, "create", temporary));
    }
    TemporaryName guard(temporary);
    VGPU_TRY(fill(fd.get(), content, mode, temporary));
    if (::rename(temporary.c_str(), path.c_str()) != 0) {
        return fail(Error::system(errno, "replace", path));
    }
    guard.release();
    return sync_directory(directory);
}

} // namespace vgpu
