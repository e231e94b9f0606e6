#pragma once

#include "agent/core/result.hpp"
#include "agent/http/loop.hpp"

#include <functional>
#include <memory>
#include <string>

namespace vgpu {

/// Tells that claims have come, changed or gone, by inotify(7) on their directory.
class ClaimsWatch {
public:
    /// `changed` is called on the loop's thread, once for any number of changes. The directory must
    /// exist. Error: io; without a watch the interval still finds everything, only later.
    [[nodiscard]] static Result<std::unique_ptr<ClaimsWatch>>
    create(http::Loop& loop, const std::string& directory, std::function<void()> changed);
    ClaimsWatch(const ClaimsWatch&) = delete;
    ClaimsWatch& operator=(const ClaimsWatch&) = delete;
    ~ClaimsWatch();

private:
    struct State;
    explicit ClaimsWatch(std::shared_ptr<State> state) : state_(std::move(state)) {}

    std::shared_ptr<State> state_;
};

} // namespace vgpu
