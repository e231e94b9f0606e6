#include "agent/core/proc_scan.hpp"

#include <fmt/format.h>

#include <dirent.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace vgpu {

namespace {

struct CloseDirectory {
    void operator()(DIR* directory) const { ::closedir(directory); }
};

bool vanished(int error_number) {
    return error_number == ENOENT || error_number == ESRCH;
}

/// Numeric names of a directory; none if it has vanished.
Result<std::vector<std::int64_t>> numbers(const std::string& path) {
    std::vector<std::int64_t> found;
    const std::unique_ptr<DIR, CloseDirectory> directory(::opendir(path.c_str()));
    if (!directory) {
        if (vanished(errno)) {
            return found;
        }
        return fail(Error::system(errno, "list", path));
    }
    while (true) {
        errno = 0;
        const dirent* entry = ::readdir(directory.get());
        if (entry == nullptr) {
            break;
        }
        const std::string_view name(entry->d_name);
        std::int64_t value = 0;
        const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), value);
        if (error == std::errc() && end == name.data() + name.size()) {
            found.push_back(value);
        }
    }
    if (errno != 0 && !vanished(errno)) {
        return fail(Error::system(errno, "list", path));
    }
    return found;
}

class Scan {
public:
    Scan(const Proc& proc, const std::vector<std::string>& nodes) : proc_(proc) {
        for (const std::string& node : nodes) {
            names_.emplace(node, node);
            struct stat info{};
            if (::stat(node.c_str(), &info) == 0 && S_ISCHR(info.st_mode)) {
                devices_.emplace(info.st_rdev, node);
            }
        }
    }

    HolderScan run() {
        const auto pids = numbers(proc_.root());
        if (!pids) {
            complain(pids.error());
        } else if (pids->empty()) {
            complain(Error(ErrorCode::unavailable, proc_.root() + " lists no process"));
        } else {
            for (const std::int64_t pid : *pids) {
                look_at(pid);
            }
        }
        return std::move(scan_);
    }

private:
    /// The first thing that could not be read is named; the rest is looked at all the same, since
    /// what is found there counts.
    void complain(const Error& error) {
        if (!scan_.incomplete) {
            scan_.incomplete = error;
        }
    }

    /// A process; when its leader is a zombie its own fd directory is empty while a thread may
    /// still have the files.
    void look_at(std::int64_t pid) {
        const std::string process = fmt::format("{}/{}", proc_.root(), pid);
        if (look_at_files(pid, process + "/fd")) {
            return;
        }
        const auto threads = numbers(process + "/task");
        if (!threads) {
            complain(threads.error());
            return;
        }
        for (const std::int64_t thread : *threads) {
            if (threads->size() > 1) {
                look_at_files(pid, fmt::format("{}/task/{}/fd", process, thread));
            }
        }
    }

    /// False if the directory is there and empty, or gone.
    bool look_at_files(std::int64_t pid, const std::string& directory) {
        const auto files = numbers(directory);
        if (!files) {
            complain(files.error());
            return true;
        }
        std::array<char, PATH_MAX> target{};
        for (const std::int64_t file : *files) {
            const std::string link = fmt::format("{}/{}", directory, file);
            const ssize_t size = ::readlink(link.c_str(), target.data(), target.size());
            if (size < 0) {
                if (!vanished(errno)) {
                    complain(Error::system(errno, "read link", link));
                }
                continue;
            }
            const std::string_view text(target.data(), static_cast<std::size_t>(size));
            if (const std::string* node = node_of(link, text)) {
                scan_.holders.try_emplace(*node, Process{pid, proc_.name(pid)});
            }
        }
        return !files->empty();
    }

    [[nodiscard]] const std::string* node_of(const std::string& link,
                                             std::string_view target) const {
        // Sockets, pipes and anonymous inodes ("anon_inode:[vfio-device]") have no path.
        if (!target.starts_with('/')) {
            return nullptr;
        }
        constexpr std::string_view deleted = " (deleted)";
        if (target.ends_with(deleted)) {
            target.remove_suffix(deleted.size());
        }
        if (const auto found = names_.find(std::string(target)); found != names_.end()) {
            return &found->second;
        }
        // By number: a VMM may live in another mount namespace, or the node may have been renamed.
        struct stat info{};
        if (devices_.empty() || ::stat(link.c_str(), &info) != 0 || !S_ISCHR(info.st_mode)) {
            return nullptr;
        }
        const auto found = devices_.find(info.st_rdev);
        return found != devices_.end() ? &found->second : nullptr;
    }

    const Proc& proc_;
    std::unordered_map<std::string, std::string> names_;
    std::unordered_map<dev_t, std::string> devices_;
    HolderScan scan_;
};

} // namespace

HolderScan scan_holders(const Proc& proc, const std::vector<std::string>& nodes) {
    return Scan(proc, nodes).run();
}

} // namespace vgpu
