#include "agent/core/claim_store.hpp"

#include "agent/core/file_io.hpp"
#include "agent/core/posix_sysfs.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

namespace vgpu {

namespace {

constexpr std::size_t max_claim_bytes = 64 * 1024;
constexpr std::string_view suffix = ".json";
constexpr std::string_view counts_as_claimed =
    "the device counts as claimed until this is repaired or, once nothing uses the device, removed";

/// The claim says of itself what the name of its file says of it.
bool is_of(const Claim& claim, const DeviceKey& key) {
    if ((claim.framework == FrameworkKind::mdev) != key.is_mdev() ||
        claim.mdev_uuid.has_value() != key.is_mdev()) {
        return false;
    }
    if (key.is_mdev()) {
        return *claim.mdev_uuid == key.mdev();
    }
    const auto named = PciAddress::parse(
        std::string_view(claim.device_path).substr(claim.device_path.rfind('/') + 1));
    return named && *named == key.pci();
}

Result<void> make_directories(const std::string& path) {
    std::error_code error;
    std::filesystem::create_directories(path, error);
    if (error) {
        return fail(Error::system(error.value(), "create directory", path));
    }
    // The new entry must outlive a power failure as its content does.
    return sync_directory(std::filesystem::path(path).parent_path());
}

} // namespace

ClaimStore::ClaimStore(const Config::Paths& paths) : paths_(paths) {}

std::string ClaimStore::path(const DeviceKey& key) const {
    return fmt::format("{}/{}{}", paths_.claims(), key.to_string(), suffix);
}

std::string ClaimStore::index(const Uuid& domain) const {
    return fmt::format("{}/domains/{}", paths_.runtime, domain.to_string());
}

Result<std::optional<Claim>> ClaimStore::read(const DeviceKey& key) const {
    const std::string file = path(key);
    // No claim is a link: one that leads nowhere would look like none.
    const auto text = read_small_file(file, max_claim_bytes, Links::refuse);
    if (!text) {
        if (text.error().error_number() == ENOENT) {
            return std::optional<Claim>();
        }
        return fail(text.error().hint(counts_as_claimed));
    }
    auto claim = parse_claim(*text, paths_.sysfs);
    if (!claim) {
        return fail(claim.error().in(file).hint(counts_as_claimed));
    }
    if (!is_of(*claim, key)) {
        return fail(Error(ErrorCode::corrupt,
                          file + ": the claim inside is of another device than its name says")
                        .hint(counts_as_claimed));
    }
    return std::optional<Claim>(std::move(*claim));
}

Result<std::vector<StoredClaim>> ClaimStore::list() const {
    PosixSysfs directory(paths_.claims());
    auto names = directory.list("");
    if (!names) {
        if (names.error().error_number() == ENOENT) {
            return std::vector<StoredClaim>();
        }
        return fail(names.error());
    }
    std::vector<StoredClaim> claims;
    for (const std::string& name : *names) {
        if (!std::string_view(name).ends_with(suffix)) {
            continue;
        }
        const auto key =
            DeviceKey::parse(std::string_view(name).substr(0, name.size() - suffix.size()));
        if (!key) {
            continue;
        }
        auto claim = read(*key);
        if (!claim) {
            claims.push_back({*key, fail(claim.error())});
        } else if (*claim) {
            claims.push_back({*key, std::move(**claim)});
        }
    }
    return claims;
}

Result<std::vector<DeviceKey>> ClaimStore::devices_of(const Uuid& domain) const {
    PosixSysfs directory(index(domain));
    auto names = directory.list("");
    if (!names) {
        if (names.error().error_number() == ENOENT) {
            return std::vector<DeviceKey>();
        }
        return fail(names.error());
    }
    std::vector<DeviceKey> keys;
    for (const std::string& name : *names) {
        if (const auto key = DeviceKey::parse(name)) {
            keys.push_back(*key);
        }
    }
    return keys;
}

Result<void> ClaimStore::add_to_index(const Uuid& domain, const DeviceKey& key) {
    const std::string directory = index(domain);
    const std::string entry = directory + "/" + key.to_string();
    constexpr int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW;
    // Twice: a release that removes the last entry may remove the directory in between.
    for (int attempt = 0; attempt < 3; ++attempt) {
        const UniqueFd fd(::open(entry.c_str(), flags, 0600));
        if (fd) {
            return {};
        }
        if (errno != ENOENT) {
            return fail(Error::system(errno, "create", entry));
        }
        std::error_code error;
        std::filesystem::create_directories(directory, error);
        if (error) {
            return fail(Error::system(error.value(), "create directory", directory));
        }
    }
    return fail(Error::system(ENOENT, "create", entry));
}

Result<std::string> ClaimStore::write_temporary(const DeviceLock& lock, const Claim& claim) {
    // Only the holder of the device's lock writes this name. One that a crash left behind may be a
    // second name of the claim itself (linked, not yet unlinked): it is removed, never truncated.
    std::string temporary = fmt::format("{}/.{}.tmp", paths_.claims(), lock.key().to_string());
    constexpr int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
    UniqueFd fd(::open(temporary.c_str(), flags, 0644));
    if (!fd && errno == ENOENT) {
        VGPU_TRY(make_directories(paths_.claims()));
        fd = UniqueFd(::open(temporary.c_str(), flags, 0644));
    }
    if (!fd && errno == EEXIST) {
        ::unlink(temporary.c_str());
        fd = UniqueFd(::open(temporary.c_str(), flags, 0644));
    }
    if (!fd) {
        return fail(Error::system(errno, "create", temporary));
    }
    const std::string json = to_json(claim);
    auto written = json.size() <= max_claim_bytes
                       ? write_all(fd.get(), json, temporary)
                       : fail(ErrorCode::invalid,
                              temporary + ": the claim would be too long to be read again");
    // Without it a power failure could leave an empty file under the claim's name, which nobody
    // could read.
    if (written && ::fdatasync(fd.get()) != 0) {
        written = fail(Error::system(errno, "sync", temporary));
    }
    if (!written) {
        ::unlink(temporary.c_str());
        return fail(written.error());
    }
    return temporary;
}

Result<void> ClaimStore::link(const DeviceLock& lock, const Claim& claim) {
    VGPU_TRY(add_to_index(claim.domain_uuid, lock.key()));
    auto made = link_file(lock, claim);
    if (!made && made.error().error_number() != EEXIST) {
        remove_from_index(claim.domain_uuid, lock.key());
    }
    return made;
}

Result<void> ClaimStore::link_file(const DeviceLock& lock, const Claim& claim) {
    VGPU_TRY_ASSIGN(const std::string temporary, write_temporary(lock, claim));
    const std::string file = path(lock.key());
    const int linked = ::link(temporary.c_str(), file.c_str());
    const int link_errno = errno;
    ::unlink(temporary.c_str());
    if (linked != 0) {
        return fail(Error::system(link_errno, "link", file));
    }
    auto synced = sync_directory(paths_.claims());
    if (!synced) {
        ::unlink(file.c_str()); // not durable, so not a claim: nothing was written under it
        return synced;
    }
    return {};
}

Result<void> ClaimStore::take_over(const DeviceLock& lock, const Claim& claim) {
    VGPU_TRY(add_to_index(claim.domain_uuid, lock.key())); // gone since a reboot
    VGPU_TRY(replace(lock, claim));
    return sync_directory(paths_.claims());
}

Result<void> ClaimStore::replace(const DeviceLock& lock, const Claim& claim) {
    VGPU_TRY_ASSIGN(const std::string temporary, write_temporary(lock, claim));
    const std::string file = path(lock.key());
    if (::rename(temporary.c_str(), file.c_str()) != 0) {
        const int rename_errno = errno;
        ::unlink(temporary.c_str());
        return fail(Error::system(rename_errno, "rename", file));
    }
    return {};
}

Result<void> ClaimStore::remove(const DeviceLock& lock, const Uuid& domain) {
    const std::string file = path(lock.key());
    if (::unlink(file.c_str()) != 0 && errno != ENOENT) {
        return fail(Error::system(errno, "remove", file));
    }
    remove_from_index(domain, lock.key());
    return {};
}

void ClaimStore::remove_from_index(const Uuid& domain, const DeviceKey& key) {
    const std::string directory = index(domain);
    ::unlink((directory + "/" + key.to_string()).c_str());
    ::rmdir(directory.c_str()); // fails while other devices are in it
}

Result<std::chrono::milliseconds> ClaimStore::age(const DeviceKey& key) const {
    const std::string file = path(key);
    struct stat info{};
    if (::stat(file.c_str(), &info) != 0) {
        return fail(Error::system(errno, "look at", file));
    }
    const auto written = std::chrono::system_clock::from_time_t(info.st_mtim.tv_sec);
    const auto age = std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::system_clock::now() - written);
    // Whole seconds of the file's time: up to one second too young, never too old.
    return std::max(std::chrono::milliseconds(0), age - std::chrono::seconds(1));
}

} // namespace vgpu
