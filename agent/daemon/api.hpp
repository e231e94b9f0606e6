#pragma once

#include "agent/daemon/log.hpp"
#include "agent/daemon/operations.hpp"
#include "agent/daemon/queues.hpp"
#include "agent/daemon/site.hpp"
#include "agent/daemon/status.hpp"
#include "agent/http/event_stream.hpp"
#include "agent/http/limits.hpp"
#include "agent/http/problem.hpp"
#include "agent/http/router.hpp"

#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

namespace vgpu {

/// Everything that the API's handlers work with. Outlives them.
struct ApiContext {
    const CurrentSite& site;
    Operations& operations;
    Status& status;
    http::EventStream& events;
    const Log& log;
    Queues& queues;
    /// One pass, now. Blocks; made on the thread of `queues.reconciles`.
    std::function<Result<ReconcileReport>(bool dry_run)> reconcile;
    /// Of the server; called on the loop's thread.
    std::function<http::Counters()> http_counters;
    std::string started_at; ///< RFC 3339
    std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();
};

/// The routes of docs/openapi.yaml.
[[nodiscard]] http::Router make_api(ApiContext& context);

/// The parts that add them.
void add_instance_routes(http::Router& router, ApiContext& context);
void add_host_routes(http::Router& router, ApiContext& context);
void add_system_routes(http::Router& router, ApiContext& context);

/// What a handler's work answers with.
using Answer = std::function<http::Response()>;

[[nodiscard]] http::Response json_response(std::string body, int status = 200);
/// The problem of an error, with the domain that the request named.
[[nodiscard]] http::Response error_response(const Error& error, const std::string& domain = {});

/// What everybody gets when a queue is full: a 503 problem.
[[nodiscard]] http::Response too_much_to_do(const WorkQueue& queue);
/// The answer, or a 500 problem when its making throws.
[[nodiscard]] http::Response guarded(const Answer& answer);

/// Makes the answer on a thread of the queue, or tells that there is too much to do.
void answer_on(WorkQueue& queue, http::Reply reply, Answer answer);
/// The same for a long action: at once with an operation if the client prefers that.
void act_on(WorkQueue& queue, ApiContext& context, const http::Request& request, http::Reply reply,
            const std::string& kind, const std::string& target, Answer answer);

} // namespace vgpu
