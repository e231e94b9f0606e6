#pragma once

#include "tests/simulator/file_system.hpp"

#include <tl/expected.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

struct fuse;
struct fuse_session;
struct fuse_buf;

namespace vgpu::simulator {

/// Serves a FileSystem at a directory.
///
/// The thread that takes a request from the kernel carries it out before the next one is taken,
/// unless it may have to wait in the "driver"; then another thread goes on. So everything but
/// writes happens in the order in which it was asked for. libfuse's own loop promises no order, and
/// the kernel sends RELEASE without waiting for its answer: there, an open right after another
/// process's close could still be told EBUSY.
class Mount {
public:
    /// Mounts. The error is a line for people.
    static tl::expected<std::unique_ptr<Mount>, std::string> create(FileSystem& files,
                                                                    const std::string& mountpoint);
    ~Mount();
    Mount(const Mount&) = delete;
    Mount& operator=(const Mount&) = delete;

    /// Serves until `stop_event` (a file descriptor) becomes readable or the mount is gone, then
    /// unmounts, also while files are open. `let_go` must end every operation that still waits.
    void serve(int stop_event, const std::function<void()>& let_go);

private:
    Mount() = default;
    void work();
    bool receive(fuse_buf& buffer);
    void add_worker();
    void unmount();

    static constexpr std::size_t max_workers = 1024;

    fuse* fuse_ = nullptr;
    fuse_session* session_ = nullptr;
    int stop_event_ = -1;
    int gone_event_ = -1; ///< the kernel has no more requests: the mount was taken off
    std::mutex receiving_;
    std::mutex workers_lock_;
    std::vector<std::thread> workers_;
    std::atomic<std::size_t> idle_{0};
    std::atomic<bool> stopping_{false};
};

} // namespace vgpu::simulator
