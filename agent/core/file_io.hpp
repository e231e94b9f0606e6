#pragma once

#include "agent/core/result.hpp"

#include <sys/types.h>

#include <cerrno>
#include <cstddef>
#include <string>
#include <string_view>

namespace vgpu {

/// The result of a system call that is made again for as long as a signal interrupts it. Not for
/// calls that may block longer than the deadline of a caller who wants to be woken by a signal.
template <typename Call>
auto uninterrupted(Call call) {
    auto result = call();
    while (result < 0 && errno == EINTR) {
        result = call();
    }
    return result;
}

/// Everything that can still be read from `fd`, unchanged; `path` is for messages only. An
/// interrupted read is taken up again. Blocks for as long as the file's owner does. Errors:
/// `corrupt` when there are more than `limit` bytes; those of read(2), errno kept.
[[nodiscard]] Result<std::string> read_descriptor(int fd, const std::string& path,
                                                  std::size_t limit);

/// What is done about a symbolic link in place of a file: it is an error (ELOOP) with `refuse`.
enum class Links { follow, refuse };

/// The content of a regular file, unchanged: on disk, or in /proc, where files say they are empty
/// until they are read. Never waits for a writer: a FIFO or a device in its place is an error.
/// Errors: `corrupt` when it is larger than `limit` bytes, `invalid` when it is no regular file,
/// those of open(2) and read(2), errno kept (ENOENT: `not_found`).
[[nodiscard]] Result<std::string> read_small_file(const std::string& path, std::size_t limit,
                                                  Links links = Links::follow);

/// Writes all of `content`, however many calls it takes; `path` is for messages only. Blocks for as
/// long as the file's owner does. Errors: those of write(2), errno kept; part of it may be written
/// then.
[[nodiscard]] Result<void> write_all(int fd, std::string_view content, const std::string& path);

/// Makes the names in a directory durable, as fsync(2) of a file does not. Blocks for the disk.
/// Errors: those of open(2) and fsync(2).
[[nodiscard]] Result<void> sync_directory(const std::string& directory);

/// Replaces or creates the file at `path`, durably: a reader, also one after a power failure, sees
/// the old content or the new one, nothing between. `mode` is taken as it is, the umask does not
/// count. A symbolic link at `path` is itself replaced. On an error before the rename nothing has
/// changed and the temporary file is gone; an error that names the directory's synchronisation
/// means the new content is there but may not survive a power failure. A process killed half way
/// leaves a file
/// ".NAME.UUID.tmp" beside it. Blocks for the disk.
[[nodiscard]] Result<void> replace_file(const std::string& path, std::string_view content,
                                        mode_t mode);

} // namespace vgpu
