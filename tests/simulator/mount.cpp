#define FUSE_USE_VERSION 31
#include "tests/simulator/mount.hpp"

#include <fmt/format.h>
#include <fuse3/fuse.h>
#include <fuse3/fuse_lowlevel.h>

#include <linux/fuse.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace vgpu::simulator {

namespace {

FileSystem& files() {
    return *static_cast<FileSystem*>(fuse_get_context()->private_data);
}

OpenFile* handle(const fuse_file_info* info) {
    return info == nullptr ? nullptr : reinterpret_cast<OpenFile*>(info->fh);
}

void* on_init(fuse_conn_info* connection, fuse_config* config) {
    config->use_ino = 1;
    config->direct_io = 1;
    // Names are looked up each time. Attributes come fresh with every look-up; between the two, the
    // kernel would ask for them once more for each directory of a path, to check its permissions.
    const double minute = 60;
    config->entry_timeout = files().cached() ? minute : 0;
    config->negative_timeout = 0;
    config->attr_timeout = minute;
    config->nullpath_ok = 1;
    config->intr = 1;
    config->intr_signal = SIGUSR1;
    connection->want &= ~static_cast<unsigned>(FUSE_CAP_READDIRPLUS | FUSE_CAP_SPLICE_READ);
    return fuse_get_context()->private_data;
}

int on_getattr(const char* path, struct stat* out, fuse_file_info* info) {
    // The kernel names the handle for regular files only: a directory's holds no node.
    if (const auto* open = handle(info)) {
        return files().stat(*open, *out);
    }
    return path == nullptr ? -ENOENT : files().stat(path, *out);
}

int on_readlink(const char* path, char* buffer, std::size_t size) {
    std::string target;
    if (const int error = files().read_link(path, target)) {
        return error;
    }
    const auto length = std::min(size - 1, target.size());
    std::memcpy(buffer, target.data(), length);
    buffer[length] = '\0';
    return 0;
}

int on_open(const char* path, fuse_file_info* info) {
    OpenFile* open = nullptr;
    const int error = files().open(path, info->flags, fuse_get_context()->pid, open);
    info->fh = reinterpret_cast<std::uint64_t>(open);
    return error;
}

int on_read(const char*, char* buffer, std::size_t size, off_t offset, fuse_file_info* info) {
    return files().read(*handle(info), buffer, size, static_cast<std::size_t>(offset));
}

int on_write(const char*, const char* buffer, std::size_t size, off_t, fuse_file_info* info) {
    return files().write(*handle(info), {buffer, size}, fuse_get_context()->pid);
}

int on_release(const char*, fuse_file_info* info) {
    files().release(*handle(info));
    return 0;
}

int on_opendir(const char* path, fuse_file_info* info) {
    info->fh = reinterpret_cast<std::uint64_t>(files().open_directory(path));
    return 0;
}

int on_readdir(const char*, void* buffer, fuse_fill_dir_t fill, off_t, fuse_file_info* info,
               fuse_readdir_flags) {
    std::vector<std::string> names;
    if (const int error = files().list(*handle(info), names)) {
        return error;
    }
    for (const char* self : {".", ".."}) {
        fill(buffer, self, nullptr, 0, fuse_fill_dir_flags{});
    }
    for (const auto& name : names) {
        fill(buffer, name.c_str(), nullptr, 0, fuse_fill_dir_flags{});
    }
    return 0;
}

/// Sysfs and procfs let a writer truncate and change nothing; the shell's `>` does it.
int on_truncate(const char*, off_t, fuse_file_info*) {
    return 0;
}

int on_create(const char*, mode_t, fuse_file_info*) {
    return -EACCES;
}

int on_mkdir(const char*, mode_t) {
    return -EPERM;
}

int on_unlink(const char*) {
    return -EPERM;
}

constexpr fuse_operations make_operations() {
    fuse_operations operations{};
    operations.init = on_init;
    operations.getattr = on_getattr;
    operations.readlink = on_readlink;
    operations.open = on_open;
    operations.read = on_read;
    operations.write = on_write;
    operations.release = on_release;
    operations.opendir = on_opendir;
    operations.readdir = on_readdir;
    operations.releasedir = on_release;
    operations.truncate = on_truncate;
    operations.create = on_create;
    operations.mkdir = on_mkdir;
    operations.unlink = on_unlink;
    operations.rmdir = on_unlink;
    return operations;
}

constexpr fuse_operations operations = make_operations();

/// True for a request that may wait for something: a write, or the notice that one was interrupted,
/// which libfuse ends only with the write.
bool can_wait(const fuse_buf& buffer) {
    fuse_in_header header{};
    if (buffer.size < sizeof(header) || buffer.mem == nullptr) {
        return false;
    }
    std::memcpy(&header, buffer.mem, sizeof(header));
    return header.opcode == FUSE_WRITE || header.opcode == FUSE_INTERRUPT;
}

} // namespace

tl::expected<std::unique_ptr<Mount>, std::string> Mount::create(FileSystem& files,
                                                                const std::string& mountpoint) {
    struct stat status{};
    if (::stat(mountpoint.c_str(), &status) != 0) {
        if (errno == ENOTCONN) {
            return tl::unexpected<std::string>(
                fmt::format("a simulator that was killed left its mount at {0}; remove it with "
                            "'umount -l {0}', or start with --replace-stale",
                            mountpoint));
        }
        return tl::unexpected<std::string>(fmt::format("{}: {}", mountpoint, std::strerror(errno)));
    }
    if (!S_ISDIR(status.st_mode)) {
        return tl::unexpected<std::string>(fmt::format("{} is no directory", mountpoint));
    }
    const char* arguments[] = {"vgpu-simulator",
                               "-ofsname=vgpu-simulator,subtype=vgpu-simulator,allow_other,"
                               "default_permissions,nosuid,nodev,noexec"};
    fuse_args list = FUSE_ARGS_INIT(0, nullptr);
    for (const auto* argument : arguments) {
        fuse_opt_add_arg(&list, argument);
    }
    std::unique_ptr<Mount> mount(new Mount);
    mount->gone_event_ = eventfd(0, EFD_CLOEXEC);
    mount->fuse_ = fuse_new(&list, &operations, sizeof(operations), &files);
    fuse_opt_free_args(&list);
    if (mount->fuse_ == nullptr || fuse_mount(mount->fuse_, mountpoint.c_str()) != 0) {
        return tl::unexpected<std::string>(
            fmt::format("cannot mount at {}: it needs root and /dev/fuse", mountpoint));
    }
    mount->session_ = fuse_get_session(mount->fuse_);
    return mount;
}

Mount::~Mount() {
    if (fuse_ != nullptr) {
        unmount();
        fuse_destroy(fuse_);
    }
    close(gone_event_);
}

void Mount::unmount() {
    if (session_ != nullptr) {
        fuse_unmount(fuse_);
        session_ = nullptr;
    }
}

/// The next request, or false when there is no more to be served.
bool Mount::receive(fuse_buf& buffer) {
    while (!stopping_) {
        pollfd events[] = {{.fd = fuse_session_fd(session_), .events = POLLIN, .revents = 0},
                           {.fd = stop_event_, .events = POLLIN, .revents = 0}};
        if (poll(events, 2, -1) < 0 && errno != EINTR) {
            break;
        }
        if (events[1].revents != 0) {
            break;
        }
        const int size = fuse_session_receive_buf(session_, &buffer);
        if (size > 0) {
            return true;
        }
        if (size != -EINTR && size != -EAGAIN) {
            break;
        }
    }
    stopping_ = true;
    eventfd_write(gone_event_, 1);
    return false;
}

void Mount::work() {
    fuse_buf buffer{};
    while (true) {
        {
            ++idle_;
            const std::lock_guard lock(receiving_);
            const bool received = receive(buffer);
            --idle_;
            if (!received) {
                break;
            }
            if (!can_wait(buffer)) {
                fuse_session_process_buf(session_, &buffer);
                continue;
            }
        }
        if (idle_ == 0) {
            add_worker();
        }
        fuse_session_process_buf(session_, &buffer);
    }
    std::free(buffer.mem);
}

void Mount::add_worker() {
    const std::lock_guard lock(workers_lock_);
    if (!stopping_ && workers_.size() < max_workers) {
        workers_.emplace_back([this] { work(); });
    }
}

void Mount::serve(int stop_event, const std::function<void()>& let_go) {
    constexpr int first_workers = 3;
    stop_event_ = stop_event;
    for (int i = 0; i < first_workers; ++i) {
        add_worker();
    }
    // This thread serves nothing: it could be the one that a blocked write waits in.
    pollfd events[] = {{.fd = stop_event_, .events = POLLIN, .revents = 0},
                       {.fd = gone_event_, .events = POLLIN, .revents = 0}};
    while (poll(events, 2, -1) < 0 && errno == EINTR) {
    }
    stopping_ = true;
    let_go();
    std::vector<std::thread> workers;
    {
        const std::lock_guard lock(workers_lock_);
        workers.swap(workers_);
    }
    for (auto& worker : workers) {
        worker.join();
    }
    unmount();
}

} // namespace vgpu::simulator
