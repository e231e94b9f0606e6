#include "agent/core/proc_directory.hpp"

#include <dirent.h>

#include <cerrno>
#include <charconv>
#include <memory>
#include <string_view>

namespace vgpu {

namespace {

struct CloseDirectory {
    void operator()(DIR* directory) const { ::closedir(directory); }
};

} // namespace

bool vanished(int error_number) {
    return error_number == ENOENT || error_number == ESRCH;
}

Result<std::vector<std::int64_t>> numeric_names(const std::string& path) {
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

} // namespace vgpu
