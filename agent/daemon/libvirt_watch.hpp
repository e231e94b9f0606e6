#pragma once

#include "agent/daemon/log.hpp"
#include "agent/daemon/site.hpp"
#include "agent/daemon/status.hpp"
#include "agent/daemon/work_queue.hpp"
#include "agent/http/event_stream.hpp"
#include "agent/http/loop.hpp"
#include "agent/hypervisor/event_link.hpp"

#include <functional>
#include <string>

namespace vgpu {

/// What libvirt's events and the state of its connection mean for the daemon: a pass, the status, a
/// log record, an event of our own. After each connection its versions are looked at.
class LibvirtWatch {
public:
    /// `look_again` is called on the loop's thread. Everything outlives the object.
    LibvirtWatch(const CurrentSite& site, http::Loop& loop, WorkQueue& views, Status& status,
                 const Log& log, http::EventStream& events, std::function<void()> look_again);

private:
    void domain_changed(const Uuid& domain);
    void connection_changed(const std::string& trouble);
    void check_versions();

    const CurrentSite& site_;
    http::Loop& loop_;
    WorkQueue& views_;
    Status& status_;
    const Log& log_;
    http::EventStream& events_;
    std::function<void()> look_again_;
    std::string last_trouble_ = "?"; ///< used on the link's thread only
    EventLink link_;                 ///< ends first: it calls the others
};

} // namespace vgpu
