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
/// libfuse's own loop hands requests to threads in no particular order, and the kernel sends RELEASE without
/// waiting for its answer: an open right after another process's close could then still be told EBUSY. Here
/// the thread that takes a RELEASE from the kernel carries it out before the next request is taken, so
/// that whoever saw close(2) return finds the node free. Threads are added as writers block in the "driver".
class Mount {
public:
    /// Mounts. The error is a line for people.
    static tl::expected<std::unique_ptr<Mount>, std::string> create(FileSystem& files,
                                                                    const std::string& mountpoint);
    ~Mount();
    Mount(const Mount&) = delete;
    Mount& operator=(const Mount&) = delete;

    /// Serves until `stop_event` (a file descriptor) becomes readable or the mount is gone, then unmounts,
    /// also while files are open. `let_go` must end every operation that still waits.
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
    std::mutex receiving_;
    std::mutex workers_lock_;
    std::vector<std::thread> workers_;
    std::atomic<std::size_t> idle_{0};
    std::atomic<bool> stopping_{false};
};

} // namespace vgpu::simulator
