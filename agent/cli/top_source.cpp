#include "agent/cli/top_source.hpp"

#include "agent/cli/event_follow.hpp"
#include "agent/core/unique_fd.hpp"

#include <poll.h>
#include <sys/eventfd.h>

#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

namespace vgpu::cli {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// Not everything that changes is an event: a driver that is reloaded, a process that opens a node.
constexpr seconds slow(10);
/// Events come in bursts, and a look costs the host something.
constexpr milliseconds between_looks(250);

} // namespace

struct TopSource::State {
    explicit State(const DaemonClient& client, TopAnswers first)
        : daemon(client), view{std::move(first), ""},
          news(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), end(::eventfd(0, EFD_CLOEXEC)) {}

    static void signal(const UniqueFd& fd) { (void)::eventfd_write(fd.get(), 1); }

    void want() {
        const std::lock_guard lock(mutex);
        wanted = true;
        changed.notify_all();
    }

    /// Looks whenever it is wanted, until the end.
    void look() {
        std::unique_lock lock(mutex);
        while (!ended) {
            changed.wait_for(lock, slow, [this] { return wanted || ended; });
            wanted = false;
            if (ended) {
                return;
            }
            lock.unlock();
            auto answers = ask_top(daemon);
            lock.lock();
            view.error = answers ? "" : answers.error().text();
            if (answers) {
                view.answers = *std::move(answers);
            }
            signal(news);
            changed.wait_for(lock, between_looks, [this] { return ended; });
        }
    }

    /// Wants a look after every event, and when the daemon is there again.
    void follow() {
        bool over = false;
        while (!over) {
            EventFollow events;
            events.since = no_event;
            events.cancel_fd = end.get();
            events.each = [this](const http::ReceivedEvent&) {
                want();
                return true;
            };
            events.interrupted = [this](const std::string&) { want(); };
            (void)follow_events(daemon, std::move(events)); // a failure is seen by look(), too
            pollfd ending{end.get(), POLLIN, 0};
            over = ::poll(&ending, 1, static_cast<int>(milliseconds(slow).count())) > 0;
        }
    }

    const DaemonClient daemon;
    std::mutex mutex;
    std::condition_variable changed;
    View view;
    bool wanted = false;
    bool ended = false;
    UniqueFd news;
    UniqueFd end; ///< readable from the end on
};

TopSource::TopSource(const DaemonClient& daemon, TopAnswers first)
    : state_(std::make_shared<State>(daemon, std::move(first))) {
    std::thread([state = state_] { state->look(); }).detach();
    std::thread([state = state_] { state->follow(); }).detach();
}

TopSource::~TopSource() {
    const std::lock_guard lock(state_->mutex);
    state_->ended = true;
    state_->changed.notify_all();
    State::signal(state_->end);
}

int TopSource::fd() const {
    return state_->news.get();
}

TopSource::View TopSource::latest() {
    const std::lock_guard lock(state_->mutex);
    eventfd_t count = 0;
    (void)::eventfd_read(state_->news.get(), &count);
    return state_->view;
}

void TopSource::refresh() {
    state_->want();
}

} // namespace vgpu::cli
