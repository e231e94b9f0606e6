#include "agent/daemon/claims_watch.hpp"

#include "agent/core/unique_fd.hpp"

#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cerrno>
#include <string_view>
#include <utility>

namespace vgpu {

namespace {

/// Claims are made by link(2), changed by rename(2), and removed; their temporary files begin with
/// a dot.
constexpr std::uint32_t changes = IN_CREATE | IN_MOVED_TO | IN_DELETE;

/// Reads all that is there. True if a claim is among it, or events were lost.
bool has_claims(int fd) {
    bool found = false;
    alignas(inotify_event) std::array<char, 16384> buffer{};
    ssize_t size = 0;
    while ((size = ::read(fd, buffer.data(), buffer.size())) > 0) {
        for (std::size_t at = 0; at < static_cast<std::size_t>(size);) {
            const auto* event = reinterpret_cast<const inotify_event*>(buffer.data() + at);
            found = found || (event->mask & IN_Q_OVERFLOW) != 0 ||
                    (event->len > 0 && !std::string_view(event->name).starts_with('.'));
            at += sizeof(inotify_event) + event->len;
        }
    }
    return found;
}

} // namespace

struct ClaimsWatch::State : std::enable_shared_from_this<State> {
    State(http::Loop& loop, int fd, std::function<void()> callback)
        : descriptor(loop.context(), fd), changed(std::move(callback)) {}

    void wait() {
        descriptor.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                              [self = shared_from_this()](const boost::system::error_code& error) {
                                  if (error || self->ended) {
                                      return;
                                  }
                                  if (has_claims(self->descriptor.native_handle())) {
                                      self->changed();
                                  }
                                  self->wait();
                              });
    }

    boost::asio::posix::stream_descriptor descriptor;
    std::function<void()> changed;
    bool ended = false;
};

Result<std::unique_ptr<ClaimsWatch>>
ClaimsWatch::create(http::Loop& loop, const std::string& directory, std::function<void()> changed) {
    UniqueFd fd(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
    if (fd.get() < 0) {
        return fail(Error::system(errno, "watch", directory));
    }
    if (::inotify_add_watch(fd.get(), directory.c_str(), changes) < 0) {
        return fail(Error::system(errno, "watch", directory));
    }
    auto state = std::make_shared<State>(loop, fd.release(), std::move(changed));
    state->wait();
    return std::unique_ptr<ClaimsWatch>(new ClaimsWatch(std::move(state)));
}

ClaimsWatch::~ClaimsWatch() {
    state_->ended = true;
    boost::system::error_code ignored;
    state_->descriptor.close(ignored);
}

} // namespace vgpu
