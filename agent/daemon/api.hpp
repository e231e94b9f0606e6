#pragma once

#include "agent/daemon/log.hpp"
#include "agent/daemon/operations.hpp"
#include "agent/daemon/status.hpp"
#include "agent/daemon/work_queue.hpp"
#include "agent/http/event_stream.hpp"
#include "agent/http/problem.hpp"
#include "agent/http/router.hpp"
#include "agent/lifecycle/lifecycle.hpp"

#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

namespace vgpu {

/// Everything that the API's handlers work with. Outlives them.
struct ApiContext {
    const Config& config;
    Lifecycle& lifecycle;
    Connect connect;
    Operations& operations;
    Status& status;
    http::EventStream& events;
    const Log& log;
    WorkQueue& changes;    ///< lifecycle operations
    WorkQueue& views;      ///< what asks libvirt
    WorkQueue& host_looks; ///< what reads sysfs and claims
    /// One pass, now. Blocks; made on a thread of `reconciles`.
    std::function<Result<ReconcileReport>(bool dry_run)> reconcile;
    WorkQueue& reconciles;
    std::function<std::string()> metrics; ///< blocks for the host's lists
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

/// Makes the answer on a thread of the queue; a full queue is a 503 problem.
void answer_on(WorkQueue& queue, http::Reply reply, Answer answer);
/// The same for a long action: at once with an operation if the client prefers that.
void act_on(WorkQueue& queue, ApiContext& context, const http::Request& request, http::Reply reply,
            const std::string& kind, const std::string& target, Answer answer);

} // namespace vgpu
