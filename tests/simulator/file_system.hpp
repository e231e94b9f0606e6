#pragma once

#include "tests/simulator/tree.hpp"

#include <sys/stat.h>

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace vgpu::simulator {

/// A file or directory that somebody has open. Its text is made by a read at offset 0 and kept for
/// the reads that follow, as sysfs does.
struct OpenFile {
    Node node;
    std::string path;
    std::string text;
    pid_t opener = 0;
};

/// The operations of the mount. All answer 0 (or a count) or a negative errno value; only write()
/// can take long.
class FileSystem {
public:
    explicit FileSystem(Host& host, bool cached = false)
        : host_(host), tree_(host), cached_(cached) {}

    /// The kernel may remember names for a while.
    [[nodiscard]] bool cached() const { return cached_; }

    int stat(std::string_view path, struct stat& out);
    int stat(const OpenFile& open, struct stat& out);
    int read_link(std::string_view path, std::string& target);
    /// `out` stays owned by the file system, until release() or its own end.
    int open(std::string_view path, int flags, pid_t caller, OpenFile*& out);
    OpenFile* open_directory(std::string_view path);
    int read(OpenFile& open, char* buffer, std::size_t size, std::size_t offset);
    int write(OpenFile& open, std::string_view text, pid_t caller);
    int list(const OpenFile& directory, std::vector<std::string>& names);
    void release(OpenFile& open);

private:
    int access(Operation operation, const Node& node, std::string_view path);

    OpenFile* keep(OpenFile open);

    Host& host_;
    Tree tree_;
    bool cached_;
    std::unordered_map<const OpenFile*, std::unique_ptr<OpenFile>> open_;
};

} // namespace vgpu::simulator
