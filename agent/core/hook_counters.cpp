#include "agent/core/hook_counters.hpp"

#include "agent/core/unique_fd.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <type_traits>

namespace vgpu {

namespace {

static_assert(std::is_trivially_copyable_v<HookCounters>);

std::string file_of(const Config::Paths& paths) {
    return paths.runtime + "/hook-counters.1";
}

void add(std::uint64_t& number, std::uint64_t amount) {
    std::atomic_ref(number).fetch_add(amount, std::memory_order_relaxed);
}

/// The file in memory, shared by all who have it open; null if it cannot be had.
HookCounters* map(const std::string& path) {
    const UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    struct stat status{};
    if (fd.get() < 0 || ::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
        return nullptr;
    }
    // A page beyond the file's end would be SIGBUS.
    constexpr auto size = static_cast<off_t>(sizeof(HookCounters));
    if (status.st_size < size && ::ftruncate(fd.get(), size) != 0) {
        return nullptr;
    }
    void* const memory =
        ::mmap(nullptr, sizeof(HookCounters), PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
    return memory == MAP_FAILED ? nullptr : static_cast<HookCounters*>(memory);
}

} // namespace

void count_hook_run(const Config::Paths& paths, std::string_view operation, bool ok,
                    std::chrono::microseconds duration) {
    const auto name =
        std::find(HookCounters::operations.begin(), HookCounters::operations.end(), operation);
    if (name == HookCounters::operations.end()) {
        return;
    }
    HookCounters* const counters = map(file_of(paths));
    if (counters == nullptr) {
        return;
    }
    HookCounters::Row& row =
        counters->rows[static_cast<std::size_t>(name - HookCounters::operations.begin())];
    add(ok ? row.ok : row.failed, 1);
    add(row.microseconds, static_cast<std::uint64_t>(duration.count()));
    const auto bound =
        std::find_if(HookCounters::bounds.begin(), HookCounters::bounds.end(),
                     [duration](std::chrono::milliseconds most) { return duration <= most; });
    add(row.durations[static_cast<std::size_t>(bound - HookCounters::bounds.begin())], 1);
    ::munmap(counters, sizeof(HookCounters));
}

Result<HookCounters> read_hook_counters(const Config::Paths& paths) {
    const std::string path = file_of(paths);
    HookCounters counters;
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (fd.get() < 0) {
        if (errno == ENOENT) {
            return counters;
        }
        return fail(Error::system(errno, "open", path));
    }
    const ssize_t size = ::pread(fd.get(), &counters, sizeof counters, 0);
    if (size < 0) {
        return fail(Error::system(errno, "read", path));
    }
    // A run has made the file and not yet its size.
    return size == static_cast<ssize_t>(sizeof counters) ? counters : HookCounters();
}

} // namespace vgpu
