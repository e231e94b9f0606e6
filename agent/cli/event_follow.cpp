#include "agent/cli/event_follow.hpp"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace vgpu::cli {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds patience(10);
/// The daemon sends a comment every 15 s.
constexpr seconds longest_silence(45);

/// False if it was cancelled meanwhile.
bool pause(milliseconds time, int cancel_fd) {
    pollfd cancel{cancel_fd, POLLIN, 0};
    return ::poll(&cancel, 1, static_cast<int>(time.count())) <= 0;
}

/// What another connection may not meet again: the daemon restarts, or has much to do.
bool may_pass(const Error& error) {
    return error.code() == ErrorCode::unavailable || error.code() == ErrorCode::timeout ||
           error.code() == ErrorCode::io;
}

class Follower {
public:
    Follower(const DaemonClient& daemon, EventFollow follow)
        : daemon_(daemon), follow_(std::move(follow)), last_id_(follow_.since) {}

    Result<void> run() {
        while (true) {
            const auto end = stream();
            if (end && *end == http::StreamEnd::cancelled) {
                return {};
            }
            if (!end && (!connected_ || !may_pass(end.error()))) {
                return fail(end.error());
            }
            connected_ = true;
            tell(end ? "virt-vgpud ended the stream" : end.error().text());
            if (!pause(pause_, follow_.cancel_fd)) {
                return {};
            }
            pause_ = std::min<milliseconds>(pause_ * 2, seconds(5));
        }
    }

private:
    Result<http::StreamEnd> stream() {
        // Without an id the daemon would not say that there was something between.
        const std::string since = connected_ && last_id_.empty() ? no_event : last_id_;
        return daemon_.http().events({"/v1/events", since, follow_.cancel_fd},
                                     Deadline::in(patience), longest_silence,
                                     [this](const http::ReceivedEvent& event) {
                                         connected_ = true;
                                         told_ = false;
                                         pause_ = shortest;
                                         if (!event.id.empty()) {
                                             last_id_ = event.id;
                                         }
                                         return follow_.each(event);
                                     });
    }

    void tell(const std::string& why) {
        if (!std::exchange(told_, true) && follow_.interrupted) {
            follow_.interrupted(why);
        }
    }

    static constexpr milliseconds shortest{100};
    const DaemonClient& daemon_;
    EventFollow follow_;
    std::string last_id_;
    milliseconds pause_ = shortest;
    bool connected_ = false;
    bool told_ = false;
};

} // namespace

Result<void> follow_events(const DaemonClient& daemon, EventFollow follow) {
    return Follower(daemon, std::move(follow)).run();
}

} // namespace vgpu::cli
