#pragma once

#include "agent/http/limits.hpp"
#include "agent/http/problem.hpp"

#include <string>
#include <string_view>
#include <utility>

namespace vgpu::http {

/// What of a refused request is told, counted and done.
struct Refusal {
    Problem problem;
    std::uint64_t Counters::* counter = nullptr;
};

inline Refusal malformed(std::string detail) {
    return {protocol_problem(400, "malformed", std::move(detail)), &Counters::requests_malformed};
}

inline Refusal over_limit(int status, std::string_view name, std::string detail) {
    Refusal refusal{protocol_problem(status, name, std::move(detail)), &Counters::requests_refused};
    if (status == 503) {
        refusal.problem.retry_after = std::chrono::seconds(1);
    }
    return refusal;
}

} // namespace vgpu::http
