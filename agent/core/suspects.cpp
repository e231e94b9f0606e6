#include "agent/core/suspects.hpp"

#include "agent/core/file_io.hpp"

#include <unistd.h>

#include <filesystem>
#include <system_error>

namespace vgpu {

namespace {

std::string directory(const Config::Paths& paths) {
    return paths.state + "/suspects";
}

std::string file_of(const Config::Paths& paths, const DeviceKey& device) {
    return directory(paths) + "/" + device.to_string();
}

} // namespace

Result<void> mark_suspect(const Config::Paths& paths, const DeviceKey& device,
                          const std::string& boot_id, const std::string& why) {
    std::error_code ignored; // what it means shows in the write
    std::filesystem::create_directories(directory(paths), ignored);
    constexpr mode_t mode = 0644;
    return replace_file(file_of(paths, device), boot_id + "\n" + printable(why) + "\n", mode);
}

Result<void> clear_suspect(const Config::Paths& paths, const DeviceKey& device) {
    const std::string path = file_of(paths, device);
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
        return fail(Error::system(errno, "remove", path));
    }
    return {};
}

std::set<DeviceKey> suspects(const Config::Paths& paths, const std::string& boot_id) {
    std::set<DeviceKey> found;
    std::error_code error;
    for (std::filesystem::directory_iterator entry(directory(paths), error), end;
         !error && entry != end; entry.increment(error)) {
        const auto key = DeviceKey::parse(entry->path().filename().string());
        constexpr std::size_t limit = 4096;
        const auto text = read_small_file(entry->path().string(), limit, Links::refuse);
        if (key && text && text->starts_with(boot_id + "\n")) {
            found.insert(*key);
        }
    }
    return found;
}

} // namespace vgpu
