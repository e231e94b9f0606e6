#include "agent/cli/doctor.hpp"
#include "agent/core/unique_fd.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

namespace vgpu::cli {

namespace {

/// Two files of a trial that are gone when it ends.
struct Trial {
    explicit Trial(const std::string& directory)
        : first(fmt::format("{}/.virt-vgpu-doctor.{}.a", directory, ::getpid())),
          second(fmt::format("{}/.virt-vgpu-doctor.{}.b", directory, ::getpid())) {}
    Trial(const Trial&) = delete;
    Trial& operator=(const Trial&) = delete;
    ~Trial() {
        ::unlink(first.c_str());
        ::unlink(second.c_str());
    }

    std::string first;
    std::string second;
};

/// The directory, or the nearest one above it that is there: the rest is made when it is needed.
std::string nearest_directory(const std::string& path) {
    std::filesystem::path at(path);
    std::error_code error;
    while (at != at.root_path() && !std::filesystem::exists(at, error)) {
        at = at.parent_path();
    }
    return at.string();
}

Result<void> sync_directory(const std::string& directory) {
    const UniqueFd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd || ::fsync(fd.get()) != 0) {
        return fail(Error::system(errno, "sync directory", directory));
    }
    return {};
}

/// What a claim needs of a file system: a file that can be synced, a link that is refused when its
/// name is taken, and a directory that can be synced.
Result<void> try_claim(const std::string& directory) {
    const Trial trial(directory);
    const UniqueFd fd(::open(trial.first.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!fd) {
        return fail(Error::system(errno, "create", trial.first));
    }
    if (::write(fd.get(), "claim\n", 6) != 6 || ::fsync(fd.get()) != 0) {
        return fail(Error::system(errno, "write and sync", trial.first));
    }
    if (::link(trial.first.c_str(), trial.second.c_str()) != 0) {
        return fail(Error::system(errno, "link", trial.second));
    }
    if (::link(trial.first.c_str(), trial.second.c_str()) == 0 || errno != EEXIST) {
        return fail(ErrorCode::unsupported,
                    fmt::format("{}: a second link of one name is not refused", directory));
    }
    return sync_directory(directory);
}

Result<void> try_lock(const std::string& directory) {
    const Trial trial(directory);
    const UniqueFd fd(::open(trial.first.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!fd || ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
        return fail(Error::system(errno, "create and lock", trial.first));
    }
    // The lock belongs to the open file: somebody else's is refused.
    const UniqueFd other(::open(trial.first.c_str(), O_RDWR | O_CLOEXEC));
    if (!other || ::flock(other.get(), LOCK_EX | LOCK_NB) == 0) {
        return fail(ErrorCode::unsupported, fmt::format("{}: locks are not exclusive", directory));
    }
    return {};
}

void judge(const char* check, const std::string& path, Result<void> (*attempt)(const std::string&),
           const char* can, const char* advice, Findings& findings) {
    const std::string directory = nearest_directory(path);
    const auto tried = attempt(directory);
    if (tried) {
        findings.ok(check, directory == path ? fmt::format("{}: {}", path, can)
                                             : fmt::format("{}: made when it is needed; {}: {}",
                                                           path, directory, can));
    } else if (tried.error().code() == ErrorCode::denied && ::geteuid() != 0) {
        findings.skip(check, fmt::format("{}: only root can try", path));
    } else {
        findings.fail(check, tried.error().text(), advice);
    }
}

} // namespace

void check_storage(const Examination& examination, Findings& findings) {
    const Config::Paths& paths = examination.host.config.paths;
    judge("state", paths.claims(), try_claim, "can be written, linked and synced",
          "without claims no domain with a vGPU starts: put [paths] state on a local file system "
          "(ext4, xfs, btrfs, zfs) with room on it",
          findings);
    judge("runtime", paths.device_locks(), try_lock, "can be written, and its locks exclude",
          "without locks no domain with a vGPU starts: [paths] runtime belongs on a local file "
          "system, "
          "usually below /run",
          findings);
}

} // namespace vgpu::cli
