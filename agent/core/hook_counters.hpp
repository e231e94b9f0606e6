#pragma once

#include "agent/core/config.hpp"
#include "agent/core/result.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <string_view>

namespace vgpu {

/// What the hook's runs of this boot came to: a file `<runtime>/hook-counters.1` of plain numbers
/// that every run adds to in place, since a hook leaves nothing else behind that could be counted.
struct HookCounters {
    static constexpr std::array<std::string_view, 4> operations{"prepare", "started", "release",
                                                                "reconnect"};
    /// Upper bounds of the durations that are counted together; one more row counts all longer
    /// ones.
    static constexpr std::array<std::chrono::milliseconds, 12> bounds{
        {std::chrono::milliseconds(5), std::chrono::milliseconds(10), std::chrono::milliseconds(25),
         std::chrono::milliseconds(50), std::chrono::milliseconds(100),
         std::chrono::milliseconds(250), std::chrono::milliseconds(500),
         std::chrono::milliseconds(1000), std::chrono::milliseconds(2500),
         std::chrono::milliseconds(5000), std::chrono::milliseconds(10000),
         std::chrono::milliseconds(20000)}};

    struct Row {
        std::uint64_t ok = 0;
        std::uint64_t failed = 0; ///< a start refused, or a step that was not done
        std::uint64_t microseconds = 0;
        std::array<std::uint64_t, bounds.size() + 1> durations{};
    };
    std::array<Row, operations.size()> rows{};
};

/// Adds one run. A trouble with the file loses the count, nothing else. Does not wait for anybody:
/// runs add at the same time.
void count_hook_run(const Config::Paths& paths, std::string_view operation, bool ok,
                    std::chrono::microseconds duration);

/// The numbers so far; all 0 before the first run. Error: io.
[[nodiscard]] Result<HookCounters> read_hook_counters(const Config::Paths& paths);

} // namespace vgpu
