#include "agent/daemon/libvirt_watch.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <utility>

namespace vgpu {

LibvirtWatch::LibvirtWatch(const CurrentSite& site, http::Loop& loop, WorkQueue& views,
                           Status& status, const Log& log, http::EventStream& events,
                           std::function<void()> look_again)
    : site_(site), loop_(loop), views_(views), status_(status), log_(log), events_(events),
      look_again_(std::move(look_again)),
      link_(site.get()->config.libvirt.uri,
            {[this](const Uuid& domain) { domain_changed(domain); },
             [this](const std::string& trouble) { connection_changed(trouble); }}) {}

void LibvirtWatch::domain_changed(const Uuid& domain) {
    status_.update([](Status::View& view) { ++view.libvirt_events; });
    events_.publish({"libvirt", nlohmann::json{{"domain", domain.to_string()}}.dump()});
    loop_.post(look_again_);
}

void LibvirtWatch::connection_changed(const std::string& trouble) {
    status_.update([&trouble](Status::View& view) {
        view.libvirt_up = trouble.empty();
        view.libvirt_trouble = trouble;
        view.libvirt_connects += trouble.empty() ? 1U : 0U;
    });
    if (trouble == last_trouble_) {
        return; // one record for as long as it is down for the same reason
    }
    last_trouble_ = trouble;
    nlohmann::json event{{"up", trouble.empty()}, {"trouble", nullptr}};
    if (!trouble.empty()) {
        event["trouble"] = trouble;
        log_.warning("libvirt: " + trouble);
    }
    events_.publish(
        {"libvirt", event.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)});
    if (trouble.empty()) {
        check_versions();
        loop_.post(look_again_); // whatever happened meanwhile sent no event
    }
}

void LibvirtWatch::check_versions() {
    const bool taken = views_.post([site = site_.get(), &status = status_, &log = log_] {
        constexpr std::chrono::seconds patience(20);
        const auto connection = site->connect(Deadline::in(patience));
        const auto facts = connection ? (*connection)->facts() : fail(connection.error());
        if (!facts) {
            log.warning("libvirt: " + facts.error().text());
            return;
        }
        const auto obstacle = vendor_vfio_obstacle(*facts);
        status.update([&](Status::View& view) {
            view.libvirt_version = version_text(facts->libvirt);
            view.hypervisor_version = version_text(facts->hypervisor);
            view.vendor_vfio_obstacle = obstacle ? obstacle->text() : "";
        });
        log.info(fmt::format("connected to libvirt {} at {} ({} {})", version_text(facts->libvirt),
                             site->config.libvirt.uri, facts->driver,
                             version_text(facts->hypervisor)));
    });
    if (!taken) {
        log_.warning("libvirt: connected; its versions are looked at after the next connection");
    }
}

} // namespace vgpu
