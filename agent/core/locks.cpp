#include "agent/core/locks.hpp"

#include "agent/core/file_io.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <system_error>
#include <thread>
#include <utility>

namespace vgpu {

namespace {

using std::chrono::milliseconds;

Result<UniqueFd> open_lock_file(const std::string& path) {
    constexpr int flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW;
    int fd = ::open(path.c_str(), flags, 0600);
    if (fd < 0 && errno == ENOENT) {
        // /run is empty after a boot and tmpfiles may not have run yet.
        std::error_code error;
        std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
        fd = ::open(path.c_str(), flags, 0600);
    }
    if (fd < 0) {
        return fail(Error::system(errno, "open lock file", path));
    }
    return UniqueFd(fd);
}

/// 20 to 100 ms, so that two that collided once do not collide for ever.
milliseconds retry_pause() {
    unsigned char byte = 0;
    if (::getrandom(&byte, 1, GRND_NONBLOCK) != 1) {
        byte = 128;
    }
    return milliseconds(20 + byte * 80 / 255);
}

/// "; held by pid 42 (virt-vgpu-hook)", from /proc/locks; empty when it cannot be told.
std::string holder_text(const std::string& path) {
    struct stat info{};
    const auto locks = read_small_file("/proc/locks", std::size_t{1} << 20U);
    if (::stat(path.c_str(), &info) != 0 || !locks) {
        return {};
    }
    const std::string wanted =
        fmt::format("{:02x}:{:02x}:{}", ::major(info.st_dev), ::minor(info.st_dev), info.st_ino);
    std::istringstream lines(*locks);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string number, kind, mode, access, pid, file;
        words >> number >> kind >> mode >> access >> pid >> file;
        if (kind == "FLOCK" && file == wanted) {
            const auto name = read_small_file("/proc/" + pid + "/comm", 64);
            return fmt::format("; held by pid {} ({})", pid,
                               name ? printable(name->substr(0, name->find('\n'))) : "gone");
        }
    }
    return {};
}

Error busy_error(const std::string& path) {
    return Error(
        ErrorCode::timeout,
        fmt::format("lock {} is busy{}: another operation on the device has not ended in time",
                    path, holder_text(path)));
}

/// A lock that is waited for while no other is held: short pauses first, most holders are quick.
Result<FileLock> wait_for(const std::string& path, Deadline deadline) {
    milliseconds pause(1);
    while (true) {
        VGPU_TRY_ASSIGN(auto lock, FileLock::try_lock(path));
        if (lock) {
            return std::move(*lock);
        }
        if (deadline.passed()) {
            return fail(busy_error(path));
        }
        std::this_thread::sleep_for(std::min(pause, deadline.remaining()));
        pause = std::min(pause * 2, milliseconds(50));
    }
}

} // namespace

Result<std::optional<FileLock>> FileLock::try_lock(const std::string& path) {
    VGPU_TRY_ASSIGN(UniqueFd fd, open_lock_file(path));
    if (uninterrupted([&] { return ::flock(fd.get(), LOCK_EX | LOCK_NB); }) != 0) {
        return errno == EWOULDBLOCK ? Result<std::optional<FileLock>>(std::nullopt)
                                    : fail(Error::system(errno, "lock", path));
    }
    // Lock files are never removed by us; should somebody else do it in between, this is no lock
    // that others see.
    struct stat locked{};
    struct stat named{};
    if (::fstat(fd.get(), &locked) != 0 || ::stat(path.c_str(), &named) != 0 ||
        locked.st_ino != named.st_ino || locked.st_dev != named.st_dev) {
        return std::optional<FileLock>();
    }
    return std::optional<FileLock>(FileLock(std::move(fd)));
}

FileLock& FileLock::operator=(FileLock&& other) noexcept {
    if (this != &other) {
        unlock();
        fd_ = std::move(other.fd_);
        kept_ = std::move(other.kept_);
        leave_ = other.leave_;
    }
    return *this;
}

void FileLock::unlock() {
    // An explicit unlock, since an idle child may still have the same open file description.
    if (fd_ && !leave_) {
        ::flock(fd_.get(), LOCK_UN);
    }
    if (kept_) {
        kept_->erase(fd_.get());
        kept_.reset();
    }
    fd_.reset();
}

DeviceLock& LockSet::of(const DeviceKey& key) {
    for (DeviceLock& lock : devices) {
        if (lock.key() == key) {
            return lock;
        }
    }
    std::abort(); // a programming error: the set was made for other devices
}

std::string Locks::path(const DeviceKey& key) const {
    return fmt::format("{}/{}.lock", paths_.device_locks(), key.to_string());
}

Result<std::optional<DeviceLock>> Locks::try_device(const DeviceKey& key) {
    VGPU_TRY_ASSIGN(auto lock, FileLock::try_lock(path(key)));
    if (!lock) {
        return std::optional<DeviceLock>();
    }
    keep(*lock);
    return std::optional<DeviceLock>(DeviceLock(key, std::move(*lock)));
}

Result<DeviceLock> Locks::device(const DeviceKey& key, Deadline deadline) {
    VGPU_TRY_ASSIGN(FileLock lock, wait_for(path(key), deadline));
    keep(lock);
    return DeviceLock(key, std::move(lock));
}

void Locks::keep(FileLock& lock) const {
    device_fds_->insert(lock.fd());
    lock.kept_ = device_fds_;
    if (on_acquired_) {
        on_acquired_();
    }
}

void Locks::keep_only_devices_in_child(int socket) const {
    std::set<int> kept = *device_fds_;
    kept.insert(socket);
    unsigned next = STDERR_FILENO + 1;
    for (const int fd : kept) {
        const auto number = static_cast<unsigned>(fd);
        if (number > next) {
            ::close_range(next, number - 1, 0);
        }
        next = std::max(next, number + 1);
    }
    ::close_range(next, ~0U, 0);
}

Result<std::optional<LockSet>> Locks::try_all(const std::vector<DeviceKey>& keys,
                                              std::string& busy) {
    LockSet set;
    VGPU_TRY_ASSIGN(set.allocation, FileLock::try_lock(paths_.allocation_lock()));
    if (!set.allocation) {
        busy = paths_.allocation_lock();
        return std::optional<LockSet>();
    }
    for (const DeviceKey& key : keys) {
        VGPU_TRY_ASSIGN(auto lock, try_device(key));
        if (!lock) {
            busy = path(key);
            return std::optional<LockSet>();
        }
        set.devices.push_back(std::move(*lock));
    }
    return std::optional<LockSet>(std::move(set));
}

Result<LockSet> Locks::all(const std::vector<DeviceKey>& keys, Deadline deadline) {
    std::string busy;
    while (true) {
        VGPU_TRY_ASSIGN(auto set, try_all(keys, busy));
        if (set) {
            return std::move(*set);
        }
        if (deadline.passed()) {
            return fail(busy_error(busy));
        }
        // The allocation lock is held for a few milliseconds only; a device lock for a driver's
        // write.
        const bool short_wait = busy == paths_.allocation_lock();
        std::this_thread::sleep_for(
            std::min(short_wait ? milliseconds(2) : retry_pause(), deadline.remaining()));
    }
}

} // namespace vgpu
