#include "agent/hypervisor/event_link.hpp"

#include "agent/hypervisor/libvirt_calls.hpp"

#include <libvirt/virterror.h>

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

namespace vgpu {

namespace {

using std::chrono::seconds;

/// All signals are the main thread's.
void start_thread(std::function<void()> work) {
    sigset_t all;
    sigset_t before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread(std::move(work)).detach();
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

/// libvirt's own loop: registered before the first connection, as virEventRegisterDefaultImpl asks.
void run_event_loop() {
    static std::once_flag once;
    std::call_once(once, [] {
        if (virEventRegisterDefaultImpl() == 0) {
            start_thread([] {
                while (true) {
                    if (virEventRunDefaultImpl() < 0) {
                        std::this_thread::sleep_for(seconds(1)); // never busy, should it fail
                    }
                }
            });
        }
    });
}

} // namespace

/// Shared with the threads and with libvirt's callbacks, which may outlive the object.
struct EventLink::State {
    std::string uri;
    Callbacks callbacks;
    std::mutex mutex;
    std::condition_variable changed;
    bool ended = false;
    bool closed = false; ///< the present connection is lost

    void on_event(const Uuid& domain) {
        const std::lock_guard lock(mutex);
        if (!ended) {
            callbacks.changed(domain);
        }
    }
    void on_close() {
        const std::lock_guard lock(mutex);
        closed = true;
        changed.notify_all();
    }
    /// False when the link has ended.
    bool tell(const std::string& trouble) {
        const std::lock_guard lock(mutex);
        if (!ended) {
            callbacks.state(trouble);
        }
        return !ended;
    }
    bool wait_end(std::chrono::milliseconds time) {
        std::unique_lock lock(mutex);
        return changed.wait_for(lock, time, [this] { return ended; });
    }
    void wait_closed() {
        std::unique_lock lock(mutex);
        changed.wait(lock, [this] { return ended || closed; });
    }
};

namespace {

using StatePtr = std::shared_ptr<EventLink::State>;

void forget(void* state) {
    delete static_cast<StatePtr*>(state);
}

int lifecycle_event(virConnectPtr, virDomainPtr domain, int, int, void* state) {
    std::array<unsigned char, VIR_UUID_BUFLEN> bytes{};
    if (virDomainGetUUID(domain, bytes.data()) == 0) {
        Uuid uuid;
        std::copy(bytes.begin(), bytes.end(), uuid.bytes.begin());
        (*static_cast<StatePtr*>(state))->on_event(uuid);
    }
    return 0;
}

void close_event(virConnectPtr, int, void* state) {
    (*static_cast<StatePtr*>(state))->on_close();
}

/// Registers for everything; an empty text, or what stands in the way.
std::string listen(virConnectPtr connection, const StatePtr& state) {
    constexpr int interval = 30; // seconds; a daemon that is gone is noticed by its socket at once
    constexpr unsigned misses = 3;
    static_cast<void>(virConnectSetKeepAlive(connection, interval, misses));
    // A driver inside the process has no connection that could close: no error.
    auto* for_close = new StatePtr(state);
    if (virConnectRegisterCloseCallback(connection, close_event, for_close, forget) != 0) {
        forget(for_close);
    }
    auto* for_events = new StatePtr(state);
    const int id = virConnectDomainEventRegisterAny(
        connection, nullptr, VIR_DOMAIN_EVENT_ID_LIFECYCLE,
        // libvirt calls it with the arguments of the event's id; its own macro casts likewise.
        // NOLINTNEXTLINE(*-reinterpret-cast)
        reinterpret_cast<virConnectDomainEventGenericCallback>(
            reinterpret_cast<void (*)()>(lifecycle_event)), // NOLINT(*-reinterpret-cast)
        for_events, forget);
    if (id < 0) {
        forget(for_events);
        return "libvirt sends no events of domains";
    }
    return "";
}

/// Why the connection was not made, or that it is lost.
std::string serve_one_connection(const StatePtr& state, bool& was_up) {
    auto connection = libvirt::open(state->uri);
    if (!connection) {
        return connection.error().text();
    }
    {
        const std::lock_guard lock(state->mutex);
        state->closed = false;
    }
    std::string trouble = listen(connection->get(), state);
    if (!trouble.empty()) {
        return trouble;
    }
    if (state->tell("")) {
        was_up = true;
        state->wait_closed();
    }
    static_cast<void>(virConnectUnregisterCloseCallback(connection->get(), close_event));
    return "the connection to libvirt at " + state->uri + " is lost";
}

void keep_connected(const StatePtr& state) {
    constexpr seconds longest_pause(30);
    seconds pause(1);
    while (true) {
        bool was_up = false;
        const std::string trouble = serve_one_connection(state, was_up);
        pause = was_up ? seconds(1) : std::min(pause * 2, longest_pause);
        if (!state->tell(trouble) || state->wait_end(pause)) {
            return;
        }
    }
}

} // namespace

EventLink::EventLink(std::string uri, Callbacks callbacks) : state_(std::make_shared<State>()) {
    state_->uri = std::move(uri);
    state_->callbacks = std::move(callbacks);
    run_event_loop();
    start_thread([state = state_] { keep_connected(state); });
}

EventLink::~EventLink() {
    const std::lock_guard lock(state_->mutex);
    state_->ended = true;
    state_->changed.notify_all();
}

} // namespace vgpu
