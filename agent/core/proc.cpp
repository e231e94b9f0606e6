#include "agent/core/proc.hpp"

#include "agent/core/file_io.hpp"
#include "agent/core/unique_fd.hpp"

#include <climits>
#include <fmt/format.h>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <functional>
#include <memory>
#include <utility>

namespace vgpu {

namespace {

struct CloseDir {
    void operator()(DIR* directory) const { ::closedir(directory); }
};
using Directory = std::unique_ptr<DIR, CloseDir>;

bool vanished(int error_number) {
    return error_number == ENOENT || error_number == ESRCH;
}

std::optional<std::int64_t> number(std::string_view text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) {
        return std::nullopt;
    }
    return value;
}

/// Numeric names of a directory; nullopt if it vanished.
Result<std::optional<std::vector<std::int64_t>>> numbers(const std::string& path) {
    const Directory directory(::opendir(path.c_str()));
    if (!directory) {
        if (vanished(errno)) {
            return std::optional<std::vector<std::int64_t>>();
        }
        return fail(Error::system(errno, "list", path));
    }
    std::vector<std::int64_t> found;
    while (true) {
        errno = 0;
        const dirent* entry = ::readdir(directory.get());
        if (entry == nullptr) {
            break;
        }
        if (const auto value = number(entry->d_name)) {
            found.push_back(*value);
        }
    }
    if (errno != 0 && !vanished(errno)) {
        return fail(Error::system(errno, "list", path));
    }
    return std::optional(std::move(found));
}

/// The nodes a scan looks for.
class Wanted {
public:
    explicit Wanted(const DeviceNodes& nodes) : paths_(nodes.paths) {
        for (const std::string& path : paths_) {
            struct stat info{};
            if (::stat(path.c_str(), &info) == 0 && S_ISCHR(info.st_mode)) {
                numbers_.push_back(info.st_rdev);
            }
        }
    }

    [[nodiscard]] bool named(std::string_view target) const {
        constexpr std::string_view deleted = " (deleted)";
        if (target.ends_with(deleted)) {
            target.remove_suffix(deleted.size());
        }
        return std::find(paths_.begin(), paths_.end(), target) != paths_.end();
    }

    /// Follows the link of an open file: works across mount namespaces and renamed nodes.
    [[nodiscard]] bool numbered(const std::string& link) const {
        struct stat info{};
        return !numbers_.empty() && ::stat(link.c_str(), &info) == 0 && S_ISCHR(info.st_mode) &&
               std::find(numbers_.begin(), numbers_.end(), info.st_rdev) != numbers_.end();
    }

private:
    const std::vector<std::string>& paths_;
    std::vector<dev_t> numbers_;
};

enum class FdScan { held, not_held, none };

/// Looks through one fd directory. `none`: it is empty or gone.
Result<FdScan> scan_fds(const std::string& path, const Wanted& wanted) {
    VGPU_TRY_ASSIGN(const auto fds, numbers(path));
    if (!fds || fds->empty()) {
        return FdScan::none;
    }
    std::array<char, PATH_MAX> target{};
    for (const std::int64_t fd : *fds) {
        const std::string link = fmt::format("{}/{}", path, fd);
        const ssize_t size = ::readlink(link.c_str(), target.data(), target.size());
        if (size < 0) {
            if (vanished(errno)) {
                continue;
            }
            return fail(Error::system(errno, "read link", link));
        }
        const std::string_view text(target.data(), static_cast<std::size_t>(size));
        // Sockets, pipes and anonymous inodes ("anon_inode:[vfio-device]") have no path.
        if (text.starts_with('/') && (wanted.named(text) || wanted.numbered(link))) {
            return FdScan::held;
        }
    }
    return FdScan::not_held;
}

/// A process; when its leader is a zombie its own fd directory is empty while a thread may still
/// have the files.
Result<bool> holds(const std::string& process, const Wanted& wanted) {
    VGPU_TRY_ASSIGN(const FdScan leader, scan_fds(process + "/fd", wanted));
    if (leader != FdScan::none) {
        return leader == FdScan::held;
    }
    VGPU_TRY_ASSIGN(const auto threads, numbers(process + "/task"));
    if (!threads || threads->size() < 2) {
        return false;
    }
    for (const std::int64_t thread : *threads) {
        VGPU_TRY_ASSIGN(const FdScan found,
                        scan_fds(fmt::format("{}/task/{}/fd", process, thread), wanted));
        if (found == FdScan::held) {
            return true;
        }
    }
    return false;
}

/// False if the process is gone. Most processes of a host are kernel threads, whose one read says
/// so: this is the inner loop of every end of an incarnation, so it makes no call more than it must
/// and keeps its buffer.
Result<bool> read_command_line(const std::string& path, std::string& buffer) {
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd) {
        return vanished(errno) ? Result<bool>(false) : fail(Error::system(errno, "open", path));
    }
    constexpr std::size_t most = std::size_t{4} << 20U; // the kernel's own limit is lower
    std::size_t size = 0;
    while (size < most) {
        buffer.resize(std::max(buffer.size(), size + 16384));
        const ssize_t got = ::read(fd.get(), buffer.data() + size, buffer.size() - size);
        if (got < 0 && errno != EINTR) {
            return vanished(errno) ? Result<bool>(false) : fail(Error::system(errno, "read", path));
        }
        if (got == 0) {
            break;
        }
        size += got > 0 ? static_cast<std::size_t>(got) : 0;
    }
    buffer.resize(size);
    return true;
}

bool has_uuid_argument(std::string_view command_line, const Uuid& domain) {
    bool previous = false;
    while (!command_line.empty()) {
        const std::size_t end = std::min(command_line.find('\0'), command_line.size());
        const std::string_view argument = command_line.substr(0, end);
        if (previous) {
            const auto uuid = Uuid::parse(argument);
            if (uuid && *uuid == domain) {
                return true;
            }
        }
        previous = argument == "-uuid" || argument == "--uuid";
        command_line.remove_prefix(std::min(end + 1, command_line.size()));
    }
    return false;
}

} // namespace

std::string Process::to_string() const {
    return fmt::format("pid {} ({})", pid, printable(name));
}

Result<std::string> Proc::boot_id() const {
    VGPU_TRY_ASSIGN(std::string text, read_small_file(root_ + "/sys/kernel/random/boot_id", 128));
    while (!text.empty() && text.back() == '\n') {
        text.pop_back();
    }
    if (text.empty()) {
        return fail(ErrorCode::corrupt, root_ + "/sys/kernel/random/boot_id is empty");
    }
    return text;
}

std::string Proc::name(std::int64_t pid) const {
    auto text = read_small_file(fmt::format("{}/{}/comm", root_, pid), 128);
    return text && !text->empty() ? text->substr(0, text->find('\n')) : "?";
}

Result<std::vector<std::int64_t>> Proc::pids() const {
    VGPU_TRY_ASSIGN(auto found, numbers(root_));
    if (!found || found->empty()) {
        return fail(ErrorCode::unavailable,
                    root_ + " lists no process: it is not mounted, or not what it should be");
    }
    return std::move(*found);
}

Result<std::optional<std::uint64_t>> Proc::start_time(std::int64_t pid) const {
    const std::string path = fmt::format("{}/{}/stat", root_, pid);
    const auto text = read_small_file(path, 8192);
    if (!text) {
        if (vanished(text.error().error_number())) {
            return std::optional<std::uint64_t>();
        }
        return fail(text.error());
    }
    // The name may hold spaces and parentheses: fields are counted from the last ')'.
    std::string_view rest(*text);
    const std::size_t paren = rest.rfind(')');
    if (paren == std::string_view::npos) {
        return fail(ErrorCode::corrupt, path + " has no process name");
    }
    rest.remove_prefix(paren + 1);
    constexpr int first_field = 3;
    constexpr int state_field = 3;
    constexpr int threads_field = 20;
    constexpr int start_time_field = 22;
    std::string_view state;
    std::optional<std::int64_t> threads;
    for (int field = first_field; !rest.empty(); ++field) {
        rest.remove_prefix(std::min(rest.find_first_not_of(" \n"), rest.size()));
        const std::string_view word = rest.substr(0, rest.find_first_of(" \n"));
        rest.remove_prefix(word.size());
        if (field == state_field) {
            state = word;
        } else if (field == threads_field) {
            threads = number(word);
        } else if (field == start_time_field) {
            const auto value = number(word);
            if (!value || !threads) {
                break;
            }
            // A zombie leader with live threads still has the process's files open.
            if (state == "Z" && *threads <= 1) {
                return std::optional<std::uint64_t>();
            }
            return std::optional(static_cast<std::uint64_t>(*value));
        }
    }
    return fail(ErrorCode::corrupt, path + " is not what proc(5) says");
}

Result<std::optional<Process>>
Proc::find(const std::function<Result<bool>(std::int64_t)>& matches) const {
    VGPU_TRY_ASSIGN(const auto all, pids());
    std::optional<Error> unseen;
    for (const std::int64_t pid : all) {
        const auto match = matches(pid);
        if (match && *match) {
            return std::optional(Process{pid, name(pid)});
        }
        if (!match && !unseen) {
            unseen = match.error();
        }
    }
    // One that was seen outweighs any that could not be looked at; none that was seen does not.
    if (unseen) {
        return fail(*unseen);
    }
    return std::optional<Process>();
}

Result<std::optional<Process>> Proc::vmm_by_command_line(const Uuid& domain) const {
    std::string buffer;
    return find([&](std::int64_t pid) -> Result<bool> {
        const std::string path = fmt::format("{}/{}/cmdline", root_, pid);
        const auto there = read_command_line(path, buffer);
        return there ? Result<bool>(*there && has_uuid_argument(buffer, domain))
                     : fail(there.error());
    });
}

Result<std::optional<Process>> Proc::holder(const DeviceNodes& nodes) const {
    const Wanted wanted(nodes);
    return find([&](std::int64_t pid) { return holds(fmt::format("{}/{}", root_, pid), wanted); });
}

} // namespace vgpu
