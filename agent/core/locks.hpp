#pragma once

#include "agent/core/config.hpp"
#include "agent/core/deadline.hpp"
#include "agent/core/ids.hpp"
#include "agent/core/result.hpp"
#include "agent/core/unique_fd.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace vgpu {

/// An exclusive flock(2) on a lock file, given back when the object ends. The file itself is never
/// removed: a waiter may hold a descriptor of the old one and would then share nothing with the
/// next.
class FileLock {
public:
    FileLock(FileLock&&) noexcept = default;
    FileLock& operator=(FileLock&& other) noexcept;
    FileLock(const FileLock&) = delete;
    FileLock& operator=(const FileLock&) = delete;
    ~FileLock() { unlock(); }

    [[nodiscard]] int fd() const { return fd_.get(); }

    /// nullopt: somebody else has it. Creates the file, and its directory, when missing. Does not
    /// wait.
    [[nodiscard]] static Result<std::optional<FileLock>> try_lock(const std::string& path);

    /// From here on the lock ends only when every process that inherited it has closed it: for a
    /// child that is stuck in a driver write and must keep everybody else off its device.
    void leave_to_children() { leave_ = true; }

private:
    friend class Locks;
    explicit FileLock(UniqueFd fd) : fd_(std::move(fd)) {}
    void unlock();

    UniqueFd fd_;
    std::shared_ptr<std::set<int>> kept_; ///< a device lock is in it while it is held
    bool leave_ = false;
};

/// The lock of one device. Having it is what allows a claim file to be linked, renamed or unlinked
/// and the device to be written: those functions ask for it.
class DeviceLock {
public:
    [[nodiscard]] const DeviceKey& key() const { return key_; }
    void leave_to_children() { lock_.leave_to_children(); }

private:
    friend class Locks;
    DeviceLock(DeviceKey key, FileLock lock) : key_(key), lock_(std::move(lock)) {}

    DeviceKey key_;
    FileLock lock_;
};

/// What a domain's start holds: all its device locks, and the allocation lock while it is wanted.
struct LockSet {
    std::optional<FileLock> allocation;
    std::vector<DeviceLock> devices;

    /// The lock of `key`, which must be one of those the set was made for.
    [[nodiscard]] DeviceLock& of(const DeviceKey& key);
};

/// The two lock levels. Order: allocation, then device. A device lock is only *tried* while another
/// lock is held, so that nobody ever waits for a lock while holding one, and two domains that name
/// two VFs in opposite order cannot deadlock.
class Locks {
public:
    explicit Locks(const Config::Paths& paths) : paths_(paths) {}

    /// Called after each lock that is taken: a child process that was forked before does not have
    /// it.
    void on_acquired(std::function<void()> callback) { on_acquired_ = std::move(callback); }

    /// The lock of `key`, nullopt if it is held elsewhere. Does not wait.
    [[nodiscard]] Result<std::optional<DeviceLock>> try_device(const DeviceKey& key);
    /// The lock of `key`; waits until the deadline. The caller holds no other lock. Error: timeout,
    /// naming the process that has it.
    [[nodiscard]] Result<DeviceLock> device(const DeviceKey& key, Deadline deadline);
    /// The allocation lock and the locks of all `keys`, or none: when one is busy all are given
    /// back and the attempt is repeated every 20 to 100 ms until the deadline. Error: timeout,
    /// naming lock and holder.
    [[nodiscard]] Result<LockSet> all(const std::vector<DeviceKey>& keys, Deadline deadline);

    /// In a forked child: closes every descriptor but the standard ones, `socket`, and the device
    /// locks taken through this object, which ends nobody's lock. What other threads have open,
    /// their locks above all, must not stay with a child that may be stuck in a driver.
    void keep_only_devices_in_child(int socket) const;

private:
    void keep(FileLock& lock) const;
    [[nodiscard]] std::string path(const DeviceKey& key) const;
    [[nodiscard]] Result<std::optional<LockSet>> try_all(const std::vector<DeviceKey>& keys,
                                                         std::string& busy);

    Config::Paths paths_;
    std::function<void()> on_acquired_;
    std::shared_ptr<std::set<int>> device_fds_ = std::make_shared<std::set<int>>();
};

} // namespace vgpu
