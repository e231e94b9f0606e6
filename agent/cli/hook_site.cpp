#include "agent/cli/hook_site.hpp"

#include "agent/core/posix_sysfs.hpp"
#include "agent/core/unique_fd.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

namespace vgpu::cli {

namespace {

/// The first part of a file; empty if it cannot be read. Never waits.
std::string beginning_of(const std::string& path) {
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    std::string text(std::size_t{64} * 1024, '\0');
    const ssize_t size = fd ? ::read(fd.get(), text.data(), text.size()) : -1;
    text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    return text;
}

bool speaks_of_gpus(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    constexpr std::array<std::string_view, 4> words{"vfio", "mdev", "sriov", "nvidia"};
    return std::any_of(words.begin(), words.end(), [&text](std::string_view word) {
        return text.find(word) != std::string::npos;
    });
}

void look_at_target(HookEntry& entry) {
    struct stat info{};
    if (::stat(entry.path.c_str(), &info) != 0) {
        entry.dangling = entry.is_link;
        return;
    }
    entry.changed = std::max(entry.changed, info.st_ctim.tv_sec);
    entry.is_regular = S_ISREG(info.st_mode);
    entry.executable = (info.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH)) != 0;
    if (!entry.is_regular) {
        return;
    }
    const std::string begin = beginning_of(entry.path);
    entry.is_program = begin.starts_with("\177ELF");
    entry.about_gpus = !entry.is_program && speaks_of_gpus(begin);
}

/// nullopt if there is nothing of that name.
std::optional<HookEntry> entry_at(const std::string& path) {
    struct stat info{};
    if (::lstat(path.c_str(), &info) != 0) {
        return std::nullopt;
    }
    HookEntry entry;
    entry.path = path;
    entry.is_link = S_ISLNK(info.st_mode);
    entry.changed = info.st_ctim.tv_sec;
    std::error_code error;
    const auto target = std::filesystem::weakly_canonical(path, error);
    entry.target = error ? path : target.string();
    look_at_target(entry);
    return entry;
}

} // namespace

Result<std::vector<HookEntry>> hook_entries(const std::string& hooks_directory) {
    std::vector<HookEntry> entries;
    if (auto main = entry_at(hooks_directory + "/qemu")) {
        entries.push_back(std::move(*main));
    }
    const std::string directory = hooks_directory + "/qemu.d";
    const auto names = PosixSysfs(directory).list("");
    if (!names && names.error().code() != ErrorCode::not_found) {
        return fail(names.error());
    }
    for (const std::string& name : names.value_or(std::vector<std::string>())) {
        if (auto entry = entry_at(directory + "/" + name)) {
            entries.push_back(std::move(*entry));
        }
    }
    return entries;
}

} // namespace vgpu::cli
