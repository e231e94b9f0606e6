#pragma once

#include "agent/core/deadline.hpp"
#include "agent/core/sysfs.hpp"
#include "agent/core/unique_fd.hpp"

#include <sys/types.h>

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace vgpu {

/// The directory of the function or mdev that a path of an attribute leads through:
/// "bus/pci/devices/0000:41:00.4" for "bus/pci/devices/0000:41:00.4/nvidia/x".
[[nodiscard]] std::string device_of_attribute(std::string_view path);

/// A Sysfs whose read() and write() end by a deadline whatever the driver does: they are made by a
/// child process, since a system call that is stuck in a driver can be left by nobody, not even by
/// SIGKILL. list(), read_link() and exists() reach no driver and are made directly.
///
/// After a timeout the child stays where it is, every further access to that device fails at once,
/// and another child serves the others. The child was forked with the device locks of this process:
/// if they are left to it (DeviceLock::leave_to_children) nobody touches the device before the
/// driver has let go. It keeps no standard descriptors, so nobody waits for its output, and dies
/// with this process as soon as the driver lets it. For one thread of one process.
class BoundedSysfs final : public Sysfs {
public:
    /// `inner` is used by this process and, in read() and write(), by the child. `in_child` runs in
    /// the child first, with the descriptor that the child needs: it closes what the child must not
    /// keep, e.g. the allocation lock and other threads' locks.
    BoundedSysfs(Sysfs& inner, Deadline deadline, std::function<void(int socket)> in_child);
    ~BoundedSysfs() override;

    /// Ends the idle child: the next access forks a new one, which then has the locks taken in
    /// between.
    void forget_child();
    void set_deadline(Deadline deadline) override {
        deadline_ = limit_.within(deadline.remaining());
    }
    /// Forks the child ahead of the first access, so that its start runs beside what comes before
    /// that.
    void get_ready() override;
    /// True once an access has not come back in time. That device is not tried again.
    [[nodiscard]] bool stuck() const { return !stuck_.empty(); }

    const std::string& root() const override { return inner_.root(); }
    Result<std::string> read(const std::string& path) override;
    Result<void> write(const std::string& path, std::string_view data) override;
    Result<std::vector<std::string>> list(const std::string& path) override {
        return inner_.list(path);
    }
    Result<std::string> read_link(const std::string& path) override {
        return inner_.read_link(path);
    }
    Result<bool> exists(const std::string& path) override { return inner_.exists(path); }

private:
    [[nodiscard]] Result<std::string> ask(char operation, const std::string& path,
                                          std::string_view data);
    [[nodiscard]] Result<void> start_child();
    [[noreturn]] void serve(const UniqueFd& socket, pid_t parent);
    [[nodiscard]] std::string answer(std::string_view request);
    /// One message, in the buffer; empty at the end of the stream or on an error.
    [[nodiscard]] std::string_view receive(const UniqueFd& socket);

    Sysfs& inner_;
    Deadline limit_;
    Deadline deadline_;
    std::function<void(int socket)> in_child_;
    UniqueFd socket_;
    std::unique_ptr<char[]> buffer_; ///< of messages
    pid_t child_ = -1;
    std::set<std::string> stuck_; ///< devices
};

} // namespace vgpu
