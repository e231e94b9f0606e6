#pragma once

#include "agent/http/limits.hpp"
#include "agent/reconcile/report.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

namespace vgpu {

/// What the daemon knows of itself, for readyz, host and metrics. May be used from any thread.
class Status {
public:
    struct View {
        bool libvirt_up = false;
        std::string libvirt_trouble = "not connected yet";
        std::string libvirt_answers; ///< why the last pass got no list from it; empty: it did
        std::string libvirt_version; ///< of the daemon; empty until known
        std::string hypervisor_version;
        std::string vendor_vfio_obstacle; ///< why it can start no domain with a VF of that kind
        std::uint64_t libvirt_connects = 0;
        std::uint64_t libvirt_events = 0;
        std::uint64_t passes = 0;
        std::uint64_t failed_passes = 0; ///< that could not even look at the host
        std::array<std::uint64_t, all_stages.size()> actions{};
        std::array<std::uint64_t, all_stages.size()> failures{};
        std::chrono::milliseconds last_pass{};
        std::int64_t last_pass_ended = 0;      ///< seconds since 1970; 0: none has
        std::string last_pass_ended_at;        ///< the same as RFC 3339
        std::string last_pass_error;           ///< why it could not look at the host
        std::chrono::milliseconds event_lag{}; ///< from the last event to the end of its pass
        http::Counters http;
    };

    [[nodiscard]] View view() const {
        const std::lock_guard lock(mutex_);
        return view_;
    }
    /// `change` gets the view to change.
    template <typename Change>
    void update(Change change) {
        const std::lock_guard lock(mutex_);
        change(view_);
    }

private:
    mutable std::mutex mutex_;
    View view_;
};

} // namespace vgpu
