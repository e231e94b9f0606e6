#pragma once

#include "agent/daemon/log.hpp"
#include "agent/daemon/site.hpp"
#include "agent/daemon/status.hpp"
#include "agent/http/event_stream.hpp"
#include "agent/reconcile/report.hpp"

#include <set>
#include <string>

namespace vgpu {

/// Makes reconcile passes, and tells of them: the log, the status, the event stream. What was
/// logged of the pass before is not logged again.
class PassMaker {
public:
    /// Everything outlives the object.
    PassMaker(const CurrentSite& site, InstanceLocks& locks, Status& status, const Log& log,
              http::EventStream& events)
        : site_(site), locks_(locks), status_(status), log_(log), events_(events) {}

    /// One pass. Blocks up to some minutes, all of it bounded. For one thread at a time. Error: the
    /// host cannot be looked at.
    [[nodiscard]] Result<ReconcileReport> make(bool dry_run);

private:
    void tell(const ReconcileReport& report);
    void count(const Result<ReconcileReport>& report, std::chrono::milliseconds duration);

    const CurrentSite& site_;
    InstanceLocks& locks_;
    Status& status_;
    const Log& log_;
    http::EventStream& events_;
    std::set<std::string> said_; ///< the failures and problems of the last pass
};

} // namespace vgpu
