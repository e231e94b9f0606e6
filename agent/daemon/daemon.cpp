#include "agent/daemon/daemon.hpp"

#include "agent/daemon/api.hpp"
#include "agent/daemon/claims_watch.hpp"
#include "agent/daemon/libvirt_watch.hpp"
#include "agent/daemon/pass_maker.hpp"
#include "agent/daemon/reconcile_loop.hpp"
#include "agent/daemon/service_manager.hpp"
#include "agent/http/server.hpp"
#include "agent/hypervisor/libvirt_hypervisor.hpp"
#include "agent/reconcile/instance_owner.hpp"

#include <fmt/format.h>

#include <pthread.h>
#include <signal.h>

#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include <utility>

namespace vgpu {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// How long operations may go on after SIGTERM. Each can be repeated, whatever it was stopped at.
constexpr seconds patience(60);

Result<void> make_directory(const std::string& path) {
    std::error_code error;
    std::filesystem::create_directories(path, error);
    if (error) {
        return fail(Error::system(error.value(), "create", path));
    }
    return {};
}

/// The unit's socket, else one of our own.
Result<http::Listener> listener_of(const Config& config, const Log& log) {
    VGPU_TRY_ASSIGN(const int passed, service_manager::passed_socket());
    if (passed >= 0) {
        return http::Listener::adopt(passed);
    }
    http::SocketFile file;
    file.path = config.paths.api_socket();
    file.group = config.api.group;
    auto listener = http::Listener::create(file);
    if (!listener && listener.error().code() == ErrorCode::not_found && !file.group.empty()) {
        log.warning(listener.error().text() + ": only root can use " + file.path +
                    " until [api] group names one that exists");
        file.group.clear();
        file.mode = 0600;
        return http::Listener::create(file);
    }
    return listener;
}

Connect connection_to(const std::string& uri) {
    return [uri](Deadline deadline) { return connect_libvirt(uri, deadline); };
}

} // namespace

/// In the order in which they are made; ended in the reverse one.
struct Daemon::Parts {
    Parts(Config config, std::function<Result<Config>()> reread_, FileLock right_)
        : right(std::move(right_)), reread(std::move(reread_)),
          log([this](const Log::Record& record) { publish(record); }),
          site(make_site(std::move(config))) {}

    [[nodiscard]] std::shared_ptr<Site> make_site(Config config) {
        Connect connect = connection_to(config.libvirt.uri);
        return std::make_shared<Site>(std::move(config), locks, std::move(connect), log.notes());
    }
    void publish(const Log::Record& record) { events.publish({"log", record_json(record)}); }

    FileLock right;
    std::function<Result<Config>()> reread;
    http::Loop loop;
    http::EventStream events{Uuid::random().to_string()};
    Log log;
    Status status;
    InstanceLocks locks;
    CurrentSite site;
    Operations operations;
    Queues queues;
    PassMaker passes{site, locks, status, log, events};
    std::shared_ptr<ReconcileLoop> reconcile;
    std::unique_ptr<ClaimsWatch> claims;
    std::unique_ptr<LibvirtWatch> libvirt;
    std::unique_ptr<ApiContext> api;
    std::unique_ptr<http::Server> server;
    boost::asio::signal_set signals{loop.context(), SIGTERM, SIGINT, SIGHUP};
    boost::asio::steady_timer watchdog{loop.context()};
    bool ending = false;

    void start(http::Listener listener);
    void start_reconcile();
    void serve(http::Listener listener);
    void wait_for_signal();
    void reload();
    void end(int signal);
    void feed_watchdog(milliseconds interval);
    void log_access(const http::AccessRecord& record) const;
    [[nodiscard]] std::string status_line() const;
};

Daemon::Daemon(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Daemon::~Daemon() = default;

Result<std::unique_ptr<Daemon>> Daemon::create(Config config,
                                               std::function<Result<Config>()> reread) {
    VGPU_TRY(make_directory(config.paths.runtime));
    VGPU_TRY(make_directory(config.paths.claims()));
    VGPU_TRY_ASSIGN(FileLock right, become_instance_owner(config.paths));
    auto parts = std::make_unique<Parts>(std::move(config), std::move(reread), std::move(right));
    VGPU_TRY_ASSIGN(http::Listener listener, listener_of(parts->site.get()->config, parts->log));
    parts->start(std::move(listener));
    return std::unique_ptr<Daemon>(new Daemon(std::move(parts)));
}

void Daemon::run() {
    service_manager::ready(parts_->status_line());
    parts_->loop.run();
    parts_->server.reset();
    parts_->log.info("ended");
}

void Daemon::Parts::start(http::Listener listener) {
    const auto now = site.get();
    start_reconcile();
    auto watch =
        ClaimsWatch::create(loop, now->config.paths.claims(), [this] { reconcile->request(); });
    if (watch) {
        claims = std::move(*watch);
    } else {
        log.warning(watch.error().text() + ": changes of claims are found at the interval only");
    }
    serve(std::move(listener));
    wait_for_signal();
    if (const auto interval = service_manager::watchdog_interval()) {
        feed_watchdog(*interval);
    }
    log.info(fmt::format("virt-vgpud {} serves {}, libvirt is {}", VGPU_VERSION,
                         now->config.paths.api_socket(), now->config.libvirt.uri));
    reconcile->start();
    libvirt = std::make_unique<LibvirtWatch>(site, loop, queues.views, status, log, events,
                                             [this] { reconcile->request(); });
}

void Daemon::Parts::start_reconcile() {
    reconcile = ReconcileLoop::create(
        loop, queues.reconciles,
        [this] {
            const auto report = passes.make(false);
            loop.post([this] { service_manager::status(status_line()); });
            return ReconcileLoop::Outcome{!report || report->failures() > 0 ||
                                              !report->libvirt_trouble.empty(),
                                          report && report->changed()};
        },
        [this] { return site.get()->config.reconcile.interval; }, status);
}

void Daemon::Parts::serve(http::Listener listener) {
    api = std::make_unique<ApiContext>(
        ApiContext{site, operations, status, events, log, queues,
                   [this](bool dry_run) { return passes.make(dry_run); },
                   [this] { return server->counters(); }, utc_now()});
    server = std::make_unique<http::Server>(
        loop, std::move(listener), http::Limits(), make_api(*api),
        [this](const http::AccessRecord& record) { log_access(record); });
}

void Daemon::Parts::log_access(const http::AccessRecord& record) const {
    constexpr int first_error_status = 400;
    const bool looks = record.method == "GET" || record.method == "HEAD";
    // A monitoring system would fill the journal; why it is not ready is there already.
    if (looks && (record.status < first_error_status || record.target == "/readyz")) {
        return;
    }
    log.info(
        fmt::format("{} {}: {} after {} ms, for pid {} of uid {}", record.method, record.target,
                    record.status == 0 ? std::string("client gone") : std::to_string(record.status),
                    std::chrono::duration_cast<milliseconds>(record.duration).count(),
                    record.peer.pid, record.peer.uid));
}

std::string Daemon::Parts::status_line() const {
    const Status::View view = status.view();
    const std::string trouble = !view.libvirt_up ? view.libvirt_trouble : view.libvirt_answers;
    if (!trouble.empty()) {
        return "no libvirt: " + trouble;
    }
    return view.last_pass_error.empty() ? "watching " + site.get()->config.libvirt.uri
                                        : "reconcile: " + view.last_pass_error;
}

void Daemon::Parts::wait_for_signal() {
    signals.async_wait([this](const boost::system::error_code& error, int signal) {
        if (error) {
            return;
        }
        if (signal == SIGHUP) {
            reload();
        } else {
            end(signal);
        }
        wait_for_signal();
    });
}

void Daemon::Parts::reload() {
    service_manager::reloading();
    auto config = reread();
    if (!config) {
        log.error("the configuration stays as it was: " + config.error().text());
    } else {
        const auto before = site.get();
        if (config->paths != before->config.paths || config->api != before->config.api ||
            config->libvirt.uri != before->config.libvirt.uri) {
            log.warning("[paths], [api] and the libvirt URI stay as they were: a new value counts "
                        "after `systemctl restart virt-vgpud`");
            config->paths = before->config.paths;
            config->api = before->config.api;
            config->libvirt.uri = before->config.libvirt.uri;
        }
        site.replace(make_site(std::move(*config)));
        log.info("the configuration was reread");
        reconcile->request();
    }
    service_manager::ready(status_line());
}

void Daemon::Parts::end(int signal) {
    if (ending) {
        log.warning("ended at once by a second signal");
        std::_Exit(EXIT_FAILURE);
    }
    ending = true;
    log.info(fmt::format("{}: ends when what is under way is done, within {} s",
                         signal == SIGTERM ? "SIGTERM" : "SIGINT", patience.count()));
    service_manager::stopping(patience + seconds(10));
    reconcile->stop();
    libvirt.reset();
    claims.reset();
    watchdog.cancel();
    const Deadline deadline = Deadline::in(patience);
    server->stop(patience, [this, deadline] {
        // Operations that nobody waits for.
        std::thread([this, deadline] {
            for (WorkQueue* queue : {&queues.changes, &queues.reconciles}) {
                if (!queue->drain(deadline.remaining())) {
                    log.warning(queue->name() + ": left in the middle; it can be repeated");
                }
            }
            loop.stop();
        }).detach();
    });
}

void Daemon::Parts::feed_watchdog(milliseconds interval) {
    const std::string stuck = queues.stuck();
    if (stuck.empty()) {
        service_manager::alive();
    } else {
        log.error(stuck + ": the service manager is not told that all is well");
    }
    watchdog.expires_after(interval);
    watchdog.async_wait([this, interval](const boost::system::error_code& error) {
        if (!error) {
            feed_watchdog(interval);
        }
    });
}

} // namespace vgpu
