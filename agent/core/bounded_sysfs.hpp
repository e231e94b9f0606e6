#pragma once

#include "agent/core/deadline.hpp"
#include "agent/core/sysfs.hpp"
#include "agent/core/unique_fd.hpp"

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

namespace vgpu {

/// A Sysfs whose read() and write() end by a deadline whatever the driver does: they are made by a
/// child process, since a system call that is stuck in a driver can be left by nobody, not even by
/// SIGKILL. list(), read_link() and exists() reach no driver and are made directly.
///
/// After a timeout the child stays where it is and every further read or write fails at once. The
/// child was forked with the device locks of this process: if they are left to it
/// (DeviceLock::leave_to_children) nobody touches the device before the driver has let go. It keeps
/// no standard descriptors, so nobody waits for its output, and dies with this process as soon as
/// the driver lets it. For one thread of one process.
class BoundedSysfs final : public Sysfs {
public:
    /// `inner` is used by this process and, in read() and write(), by the child. `in_child` runs in
    /// the child first: it closes what the child must not keep, e.g. the allocation lock.
    BoundedSysfs(Sysfs& inner, Deadline deadline, std::function<void()> in_child);
    ~BoundedSysfs() override;

    /// Ends the idle child: the next access forks a new one, which then has the locks taken in
    /// between.
    void forget_child();
    /// Moves the deadline of all further accesses.
    void set_deadline(Deadline deadline) { deadline_ = deadline; }
    /// True once an access has not come back in time.
    [[nodiscard]] bool stuck() const { return stuck_; }

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

    Sysfs& inner_;
    Deadline deadline_;
    std::function<void()> in_child_;
    UniqueFd socket_;
    pid_t child_ = -1;
    bool stuck_ = false;
};

} // namespace vgpu
