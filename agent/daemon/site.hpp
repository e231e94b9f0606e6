#pragma once

#include "agent/lifecycle/lifecycle.hpp"

#include <memory>
#include <mutex>
#include <utility>

namespace vgpu {

/// A configuration and what works by it. Unchanged as long as it lives: an operation ends under the
/// configuration that it began under.
struct Site {
    Site(Config c, InstanceLocks& locks, Connect connection, Notes note)
        : config(std::move(c)), connect(std::move(connection)),
          lifecycle(config, locks, connect, std::move(note)) {}
    Site(const Site&) = delete;
    Site& operator=(const Site&) = delete;
    ~Site() = default;

    const Config config;
    const Connect connect;
    Lifecycle lifecycle;
};

/// The one in force. May be used from any thread.
class CurrentSite {
public:
    explicit CurrentSite(std::shared_ptr<Site> first) : site_(std::move(first)) {}

    [[nodiscard]] std::shared_ptr<Site> get() const {
        const std::lock_guard lock(mutex_);
        return site_;
    }
    void replace(std::shared_ptr<Site> site) {
        const std::lock_guard lock(mutex_);
        site_ = std::move(site);
    }

private:
    mutable std::mutex mutex_;
    std::shared_ptr<Site> site_;
};

} // namespace vgpu
