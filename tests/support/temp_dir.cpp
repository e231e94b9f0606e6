#include "tests/support/temp_dir.hpp"

#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <system_error>

namespace vgpu::test {

namespace {

[[noreturn]] void raise(const std::string& what) {
    throw std::system_error(errno, std::generic_category(), what);
}

} // namespace

TempDir::TempDir(std::string_view prefix) {
    auto pattern = (std::filesystem::temp_directory_path() / prefix).string() + "-XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr) {
        raise(pattern);
    }
    path_ = pattern;
}

TempDir::~TempDir() {
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(path_, ignored)) {
        umount2(entry.path().c_str(), MNT_DETACH);
    }
    std::filesystem::remove_all(path_, ignored);
}

std::string read_file(const std::string& path) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        raise(path);
    }
    std::string text;
    char buffer[65536];
    ssize_t count = 0;
    while ((count = read(file, buffer, sizeof(buffer))) > 0) {
        text.append(buffer, static_cast<std::size_t>(count));
    }
    const int error = errno;
    close(file);
    if (count < 0) {
        errno = error;
        raise(path);
    }
    return text;
}

void write_file(const std::string& path, std::string_view text) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream file(path, std::ios::trunc);
    if (!file.write(text.data(), static_cast<std::streamsize>(text.size())).flush()) {
        raise(path);
    }
}

int write_attribute(const std::string& path, std::string_view text) {
    const int file = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (file < 0) {
        return errno;
    }
    const auto written = write(file, text.data(), text.size());
    const int error = written < 0 ? errno : 0;
    close(file);
    return error;
}

} // namespace vgpu::test
