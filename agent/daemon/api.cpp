#include "agent/daemon/api.hpp"

#include <fmt/format.h>

#include <memory>
#include <utility>

namespace vgpu {

namespace {

constexpr int accepted = 202;

bool wants_async(const http::Request& request) {
    return request.header("Prefer").find("respond-async") != std::string::npos;
}

void log_failure(const Log& log, const Operations::Operation& operation) {
    if (operation.failed()) {
        const auto body = operation.response->body;
        const Error error =
            http::error_of(operation.response->status, operation.response->content_type, body);
        log.warning(fmt::format("{}{}{}: {}", operation.kind, operation.target.empty() ? "" : " ",
                                printable(operation.target), error.text()));
    }
}

} // namespace

http::Response too_much_to_do(const WorkQueue& queue) {
    http::Problem problem = http::protocol_problem(503, "unavailable",
                                                   "too many requests for " + queue.name() +
                                                       " are waiting already; try again later");
    problem.retry_after = std::chrono::seconds(2);
    return http::to_response(problem);
}

http::Response guarded(const Answer& answer) {
    try {
        return answer();
    } catch (const std::exception& error) {
        // Out of memory, or a fault of ours: this request's, not the daemon's end.
        return http::to_response(http::protocol_problem(500, "internal", printable(error.what())));
    }
}

http::Response json_response(std::string body, int status) {
    http::Response response;
    response.status = status;
    response.content_type = "application/json";
    response.body = std::move(body);
    return response;
}

http::Response error_response(const Error& error, const std::string& domain) {
    http::Problem problem = http::problem_of(error);
    if (!domain.empty()) {
        problem.domain = domain;
    }
    return http::to_response(problem);
}

void answer_on(WorkQueue& queue, http::Reply reply, Answer answer) {
    const auto shared = std::make_shared<http::Reply>(std::move(reply));
    const bool taken = queue.post([shared, answer = std::move(answer)] {
        if (!shared->abandoned()) {
            (*shared)(guarded(answer));
        }
    });
    if (!taken) {
        (*shared)(too_much_to_do(queue));
    }
}

void act_on(WorkQueue& queue, ApiContext& context, const http::Request& request, http::Reply reply,
            const std::string& kind, const std::string& target, Answer answer) {
    const std::string id = context.operations.begin(kind, target);
    const auto shared = std::make_shared<http::Reply>(std::move(reply));
    const bool async = wants_async(request);
    const auto tell = [&context, id] {
        if (const auto operation = context.operations.find(id)) {
            log_failure(context.log, *operation);
            context.events.publish({"operation", operation_line(*operation)});
        }
    };
    const bool taken = queue.post([&context, id, tell, async, shared, answer = std::move(answer)] {
        tell();
        // Done also when the client has gone: it asked for a change, and may have been cut off.
        http::Response response = guarded(answer);
        context.operations.end(id, response);
        tell();
        if (!async) {
            (*shared)(std::move(response));
        }
    });
    if (!taken) {
        context.operations.end(id, too_much_to_do(queue));
        (*shared)(too_much_to_do(queue));
    } else if (async) {
        http::Response response =
            json_response(operation_json(context.operations.find(id).value()), accepted);
        response.headers.emplace_back("Location", "/v1/operations/" + id);
        response.headers.emplace_back("Preference-Applied", "respond-async");
        (*shared)(std::move(response));
    }
}

http::Router make_api(ApiContext& context) {
    http::Router router;
    add_instance_routes(router, context);
    add_host_routes(router, context);
    add_system_routes(router, context);
    return router;
}

} // namespace vgpu
