#include "agent/hypervisor/libvirt_hypervisor.hpp"

#include "agent/hypervisor/call_thread.hpp"
#include "agent/hypervisor/libvirt_calls.hpp"

#include <functional>
#include <string>
#include <utility>

namespace vgpu {

namespace {

using libvirt::ConnectionPtr;

/// Each call is made on a thread of its own, with the connection, which the call keeps alive should
/// it never come back.
class LibvirtHypervisor final : public DomainControl {
public:
    LibvirtHypervisor(const std::string& uri, Deadline deadline)
        : thread_("the libvirt daemon at " + uri), deadline_(deadline) {}

    ~LibvirtHypervisor() override {
        // Closing talks to the daemon as well.
        static_cast<void>(on_thread<void>([](ConnectionPtr& connection) -> Result<void> {
            connection.reset();
            return {};
        }));
    }

    Result<void> open(const std::string& uri) {
        return on_thread<void>([uri](ConnectionPtr& connection) -> Result<void> {
            VGPU_TRY_ASSIGN(connection, libvirt::open(uri));
            return {};
        });
    }

    void set_deadline(Deadline deadline) override { deadline_ = deadline; }

    bool usable() override {
        return !thread_.lost() && on_thread<bool>([](ConnectionPtr& connection) -> Result<bool> {
                                      return libvirt::alive(connection.get());
                                  }).value_or(false);
    }

    Result<HypervisorFacts> facts() override { return call(libvirt::facts); }
    Result<std::vector<DomainInfo>> domains() override { return call(libvirt::domains); }
    Result<DomainInfo> domain(const std::string& name) override {
        return call(libvirt::domain, name);
    }
    Result<void> define(const std::string& xml) override { return call(libvirt::define, xml); }
    Result<bool> active(const std::string& domain) override {
        return call(libvirt::active, domain);
    }
    Result<void> start(const std::string& domain) override { return call(libvirt::start, domain); }
    Result<void> shutdown(const std::string& domain) override {
        return call(libvirt::shutdown, domain);
    }
    Result<void> reboot(const std::string& domain) override {
        return call(libvirt::reboot, domain);
    }
    Result<void> destroy(const std::string& domain, Termination how) override {
        return call(libvirt::destroy, domain, how);
    }
    Result<void> undefine(const std::string& domain) override {
        return call(libvirt::undefine, domain);
    }

private:
    template <typename T>
    [[nodiscard]] Result<T> on_thread(std::function<Result<T>(ConnectionPtr&)> job) {
        return thread_.call<T>(
            [connection = connection_, job = std::move(job)] { return job(*connection); },
            deadline_);
    }

    template <typename T, typename... Wanted, typename... Given>
    [[nodiscard]] Result<T> call(Result<T> (*function)(virConnectPtr, Wanted...), Given... given) {
        return on_thread<T>([=](ConnectionPtr& connection) -> Result<T> {
            return function(connection.get(), given...);
        });
    }

    CallThread thread_;
    Deadline deadline_;
    std::shared_ptr<ConnectionPtr> connection_ = std::make_shared<ConnectionPtr>();
};

} // namespace

Result<std::unique_ptr<DomainControl>> connect_libvirt(const std::string& uri, Deadline deadline) {
    // A daemon that hangs for a day must not collect a thread and a connection for each attempt.
    constexpr int most_lost = 16;
    if (CallThread::lost_threads() >= most_lost) {
        return fail(ErrorCode::unavailable,
                    "the libvirt daemon at " + uri + " has not come back from " +
                        std::to_string(most_lost) +
                        " earlier calls; see `systemctl status libvirtd` (or virtqemud)");
    }
    auto hypervisor = std::make_unique<LibvirtHypervisor>(uri, deadline);
    VGPU_TRY(hypervisor->open(uri));
    return std::unique_ptr<DomainControl>(std::move(hypervisor));
}

} // namespace vgpu
