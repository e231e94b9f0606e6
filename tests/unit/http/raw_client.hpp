#pragma once

#include "agent/core/unique_fd.hpp"

#include <string>
#include <string_view>

namespace vgpu::test {

/// A client that sends what it is told to, well-formed or not. Waits end a test with a failure
/// after a minute, so that a mistake does not hang it.
class RawClient {
public:
    explicit RawClient(const std::string& path);

    /// False if the server takes no more.
    bool send(std::string_view bytes);
    /// Ends this side only.
    void finish();
    void close() { fd_.reset(); }
    /// Everything until the server closes.
    std::string read_to_end();
    /// Everything so far, once it contains `text`; what there is if the server closes before.
    std::string read_until(std::string_view text);
    /// How much the server has not read of what was sent, as the kernel counts it.
    [[nodiscard]] int unread() const;
    [[nodiscard]] int fd() const { return fd_.get(); }

private:
    bool read_some();
    UniqueFd fd_;
    std::string received_;
};

/// "GET PATH" with what HTTP/1.1 requires.
std::string get(std::string_view path, std::string_view more_fields = "");
/// How often `part` is in `text`.
std::size_t count(std::string_view text, std::string_view part);

} // namespace vgpu::test
