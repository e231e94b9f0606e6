#pragma once

#include <algorithm>
#include <chrono>

namespace vgpu {

/// A point in monotonic time by which something must be over.
class Deadline {
public:
    static Deadline in(std::chrono::milliseconds duration) {
        return Deadline(std::chrono::steady_clock::now() + duration);
    }

    [[nodiscard]] bool passed() const { return remaining().count() == 0; }
    /// Never negative; rounded up, so that a wait for it does not end early.
    [[nodiscard]] std::chrono::milliseconds remaining() const {
        return std::max(std::chrono::milliseconds(0), std::chrono::ceil<std::chrono::milliseconds>(
                                                          end_ - std::chrono::steady_clock::now()));
    }
    /// The earlier of this deadline and one `duration` from now.
    [[nodiscard]] Deadline within(std::chrono::milliseconds duration) const {
        return Deadline(std::min(end_, in(duration).end_));
    }

private:
    explicit Deadline(std::chrono::steady_clock::time_point end) : end_(end) {}
    std::chrono::steady_clock::time_point end_;
};

} // namespace vgpu
