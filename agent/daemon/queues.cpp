#include "agent/daemon/queues.hpp"

#include <fmt/format.h>

namespace vgpu {

std::string Queues::stuck() const {
    using std::chrono::seconds;
    // Twice what the deadlines in the work allow, and more.
    const std::array<std::pair<const WorkQueue*, seconds>, 4> limits{{{&changes, seconds(420)},
                                                                      {&views, seconds(60)},
                                                                      {&host, seconds(60)},
                                                                      {&reconciles, seconds(300)}}};
    std::string text;
    for (const auto& [queue, limit] : limits) {
        if (queue->longest() > limit) {
            text += fmt::format("{}{} has been busy with one thing for {} s",
                                text.empty() ? "" : ", ", queue->name(),
                                std::chrono::duration_cast<seconds>(queue->longest()).count());
        }
    }
    return text;
}

} // namespace vgpu
