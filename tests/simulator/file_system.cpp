#include "tests/simulator/file_system.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>

namespace vgpu::simulator {

namespace {

void fill(const Host& host, const Node& node, struct stat& out) {
    out = {};
    out.st_ino = node.inode;
    const auto made = node.device ? node.device->created : host.booted;
    out.st_mtim.tv_sec = std::chrono::system_clock::to_time_t(made);
    out.st_ctim = out.st_atim = out.st_mtim;
    switch (node.kind) {
    case Node::Kind::directory:
        out.st_mode = S_IFDIR | node.mode;
        out.st_nlink = 2;
        break;
    case Node::Kind::link:
        out.st_mode = S_IFLNK | node.mode;
        out.st_nlink = 1;
        break;
    case Node::Kind::file:
        out.st_mode = S_IFREG | node.mode;
        out.st_nlink = 1;
        out.st_size = 4096;
        break;
    }
}

} // namespace

/// Counts an operation and finds out whether it is to fail.
int FileSystem::access(Operation operation, const Node& node, std::string_view path) {
    host_.count(to_string(operation), node);
    if (node.process && node.process->vanishes_after) {
        if (node.process->vanished()) {
            return operation == Operation::read ? -ESRCH : -ENOENT;
        }
        --*node.process->vanishes_after;
    }
    const auto hit = host_.faults.take(operation, node, path);
    return hit ? -hit->error : 0;
}

int FileSystem::stat(std::string_view path, struct stat& out) {
    const std::lock_guard lock(host_.mutex);
    host_.settle();
    const auto node = tree_.resolve(path);
    if (!node) {
        return -node.error();
    }
    host_.counters.add("stat");
    if (const auto hit = host_.faults.take(Operation::stat, *node, path)) {
        return -hit->error;
    }
    fill(host_, *node, out);
    return 0;
}

int FileSystem::stat(const OpenFile& open, struct stat& out) {
    const std::lock_guard lock(host_.mutex);
    host_.counters.add("stat");
    fill(host_, open.node, out);
    return 0;
}

int FileSystem::read_link(std::string_view path, std::string& target) {
    const std::lock_guard lock(host_.mutex);
    host_.settle();
    const auto node = tree_.resolve(path);
    if (!node) {
        return -node.error();
    }
    if (const int error = access(Operation::readlink, *node, path)) {
        return error;
    }
    if (node->kind != Node::Kind::link) {
        return -EINVAL;
    }
    target = node->target;
    return 0;
}

int FileSystem::open(std::string_view path, int flags, pid_t caller, OpenFile*& out) {
    const std::lock_guard lock(host_.mutex);
    host_.settle();
    auto node = tree_.resolve(path);
    if (!node) {
        return -node.error();
    }
    if (const int error = access(Operation::open, *node, path)) {
        return error;
    }
    // Sysfs refuses what an attribute has no function for, to root too.
    const int mode = flags & O_ACCMODE;
    if ((mode != O_WRONLY && !node->read) || (mode != O_RDONLY && !node->write)) {
        return -EACCES;
    }
    if (node->open) {
        if (const int error = node->open(caller)) {
            return -error;
        }
    }
    out = keep({std::move(*node), std::string(path), {}, caller});
    return 0;
}

OpenFile* FileSystem::open_directory(std::string_view path) {
    const std::lock_guard lock(host_.mutex);
    return keep({{}, std::string(path), {}, 0});
}

OpenFile* FileSystem::keep(OpenFile open) {
    auto kept = std::make_unique<OpenFile>(std::move(open));
    auto* const address = kept.get();
    open_.emplace(address, std::move(kept));
    return address;
}

int FileSystem::read(OpenFile& open, char* buffer, std::size_t size, std::size_t offset) {
    const std::lock_guard lock(host_.mutex);
    host_.settle();
    if (offset == 0) {
        if (const int error = access(Operation::read, open.node, open.path)) {
            return error;
        }
        auto text = open.node.read();
        if (!text) {
            return -text.error();
        }
        open.text = std::move(*text);
    }
    if (offset >= open.text.size()) {
        return 0;
    }
    const auto count = std::min(size, open.text.size() - offset);
    std::memcpy(buffer, open.text.data() + offset, count);
    return static_cast<int>(count);
}

int FileSystem::write(OpenFile& open, std::string_view text, pid_t caller) {
    std::unique_lock lock(host_.mutex);
    host_.settle();
    host_.count("write", open.node);
    const auto hit = host_.faults.take(Operation::write, open.node, open.path, text);
    if (hit && !hit->after) {
        return -hit->error;
    }
    Call call{lock, caller};
    const int error = open.node.write(call, text);
    if (error != 0 || hit) {
        return -(error != 0 ? error : hit->error);
    }
    return static_cast<int>(text.size());
}

int FileSystem::list(const OpenFile& directory, std::vector<std::string>& names) {
    const std::lock_guard lock(host_.mutex);
    host_.settle();
    const auto& path = directory.path;
    const auto node = tree_.resolve(path);
    if (!node) {
        return -node.error();
    }
    if (node->kind != Node::Kind::directory) {
        return -ENOTDIR;
    }
    if (const int error = access(Operation::readdir, *node, path)) {
        return error;
    }
    auto listed = tree_.list(*node, path);
    if (!listed) {
        return -listed.error();
    }
    names = std::move(*listed);
    return 0;
}

void FileSystem::release(OpenFile& open) {
    const std::lock_guard lock(host_.mutex);
    if (open.node.release) {
        open.node.release(open.opener);
    }
    open_.erase(&open);
}

} // namespace vgpu::simulator
