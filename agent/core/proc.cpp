#include "agent/core/proc.hpp"

#include "agent/core/file_io.hpp"
#include "agent/core/proc_directory.hpp"
#include "agent/core/unique_fd.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <utility>

namespace vgpu {

namespace {

std::optional<std::int64_t> number(std::string_view text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) {
        return std::nullopt;
    }
    return value;
}

/// The arguments of a process, in the buffer; nullopt if the process is gone. Most processes of a
/// host are kernel threads, whose one read says so: this is the inner loop of every end of an
/// incarnation, so it makes no call more than it must and keeps its buffer.
Result<std::optional<std::string_view>> read_command_line(const std::string& path,
                                                          std::string& buffer) {
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd) {
        return vanished(errno) ? Result<std::optional<std::string_view>>(std::nullopt)
                               : fail(Error::system(errno, "open", path));
    }
    constexpr std::size_t least = 16384;
    constexpr std::size_t most = std::size_t{4} << 20U; // the kernel's own limit is lower
    std::size_t size = 0;
    while (size < most) {
        if (buffer.size() < size + least) {
            buffer.resize(size + least);
        }
        const ssize_t got = ::read(fd.get(), buffer.data() + size, buffer.size() - size);
        if (got < 0 && errno != EINTR) {
            return vanished(errno) ? Result<std::optional<std::string_view>>(std::nullopt)
                                   : fail(Error::system(errno, "read", path));
        }
        if (got == 0) {
            break;
        }
        size += got > 0 ? static_cast<std::size_t>(got) : 0;
    }
    return std::optional(std::string_view(buffer).substr(0, size));
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
    VGPU_TRY_ASSIGN(auto found, numeric_names(root_));
    if (found.empty()) {
        return fail(ErrorCode::unavailable,
                    root_ + " lists no process: it is not mounted, or not what it should be");
    }
    return found;
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

Result<std::optional<Process>> Proc::vmm_by_command_line(const Uuid& domain) const {
    VGPU_TRY_ASSIGN(const auto all, pids());
    std::string buffer;
    std::optional<Error> unseen;
    for (const std::int64_t pid : all) {
        const auto line = read_command_line(fmt::format("{}/{}/cmdline", root_, pid), buffer);
        if (!line) {
            unseen = unseen ? unseen : line.error();
        } else if (*line && has_uuid_argument(**line, domain)) {
            return std::optional(Process{pid, name(pid)});
        }
    }
    // One that was seen outweighs any that could not be looked at; none that was seen does not.
    if (unseen) {
        return fail(*unseen);
    }
    return std::optional<Process>();
}

} // namespace vgpu
