#include "agent/core/proc.hpp"
#include "agent/daemon/api.hpp"
#include "agent/daemon/metrics.hpp"
#include "agent/daemon/shared_answer.hpp"
#include "agent/http/json_body.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <unistd.h>

#include <array>
#include <utility>

namespace vgpu {

namespace {

using http::Reply;
using http::Request;
using http::Response;
using Json = nlohmann::ordered_json;

std::string text_of(const Json& json) {
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json text_or_null(const std::string& text) {
    return text.empty() ? Json(nullptr) : Json(text);
}

std::string hostname() {
    std::array<char, 256> name{};
    return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

Response host_response(const ApiContext& context) {
    using std::chrono::duration_cast;
    using std::chrono::seconds;
    const auto site = context.site.get();
    const Status::View status = context.status.view();
    Json json;
    json["version"] = VGPU_VERSION;
    json["hostname"] = hostname();
    json["boot_id"] = text_or_null(Proc(site->config.paths.proc).boot_id().value_or(""));
    json["started_at"] = context.started_at;
    json["uptime_s"] =
        duration_cast<seconds>(std::chrono::steady_clock::now() - context.began).count();
    json["libvirt"] = {{"uri", site->config.libvirt.uri},
                       {"up", status.libvirt_up},
                       {"trouble", text_or_null(status.libvirt_trouble)},
                       {"version", text_or_null(status.libvirt_version)},
                       {"hypervisor_version", text_or_null(status.hypervisor_version)},
                       {"vendor_vfio_obstacle", text_or_null(status.vendor_vfio_obstacle)},
                       {"connects", status.libvirt_connects},
                       {"events", status.libvirt_events}};
    json["reconcile"] = {{"runs", status.passes},
                         {"failed", status.failed_passes},
                         {"last_ended_at", text_or_null(status.last_pass_ended_at)},
                         {"last_ms", status.last_pass.count()},
                         {"last_error", text_or_null(status.last_pass_error)}};
    json["config"] = to_toml(site->config);
    return json_response(text_of(json));
}

/// Why the daemon cannot do its work now; empty when it can.
std::string not_ready(const ApiContext& context) {
    const Status::View status = context.status.view();
    std::vector<std::string> reasons;
    if (!status.libvirt_up) {
        reasons.push_back("libvirt: " + status.libvirt_trouble);
    }
    if (!status.libvirt_answers.empty()) {
        reasons.push_back("libvirt: " + status.libvirt_answers);
    }
    if (status.passes == 0) {
        reasons.emplace_back("the first reconcile pass is not over");
    } else if (!status.last_pass_error.empty()) {
        reasons.push_back("reconcile: " + status.last_pass_error);
    }
    if (std::string stuck = context.queues.stuck(); !stuck.empty()) {
        reasons.push_back(std::move(stuck));
    }
    return fmt::format("{}", fmt::join(reasons, "; "));
}

void ready(const ApiContext& context, Reply reply) {
    const std::string reasons = not_ready(context);
    reply(reasons.empty() ? json_response("{\"ready\":true}\n")
                          : http::to_response(http::protocol_problem(503, "unavailable", reasons)));
}

/// {"dry_run":…}; nothing at all is a real pass.
tl::expected<bool, http::Problem> wants_dry_run(const Request& request) {
    if (request.body.empty()) {
        return false;
    }
    const auto body = http::parse_json_body(request);
    if (!body) {
        return tl::make_unexpected(body.error());
    }
    const auto bad = [](const char* text) {
        return tl::make_unexpected(http::protocol_problem(400, "invalid", text));
    };
    if (!body->is_object()) {
        return bad("the body must be a JSON object");
    }
    bool dry_run = false;
    for (const auto& entry : body->items()) {
        if (entry.key() != "dry_run") {
            return bad("the body has a field other than dry_run");
        }
        if (!entry.value().is_boolean()) {
            return bad("/dry_run: must be true or false");
        }
        dry_run = entry.value().get<bool>();
    }
    return dry_run;
}

void add_reconcile(http::Router& router, ApiContext& context) {
    router.add("POST", "/v1/reconcile", [&context](Request request, Reply reply) {
        const auto dry_run = wants_dry_run(request);
        if (!dry_run) {
            reply(http::to_response(dry_run.error()));
            return;
        }
        act_on(context.queues.reconciles, context, request, std::move(reply), "reconcile", "",
               [&context, dry_run = *dry_run] {
                   const auto report = context.reconcile(dry_run);
                   return report ? json_response(report_json(*report))
                                 : error_response(report.error());
               });
    });
}

/// What is known of the events after an id, or of all, and then the end.
Response kept_events(const http::EventStream& events, const std::string& last_event_id) {
    constexpr std::size_t batch_bytes = std::size_t{1} << 20U;
    Response response;
    response.content_type = "text/event-stream";
    response.headers = {{"Cache-Control", "no-store"}};
    const auto start = events.resume(last_event_id);
    std::uint64_t position = last_event_id.empty() || start.lost ? events.oldest() : start.position;
    if (start.lost) {
        response.body = http::format_event(events.id_before(position), {"resync", ""});
    }
    while (true) {
        auto batch = events.read(position, {}, batch_bytes);
        if (batch.lost) { // more was published meanwhile than is kept
            position = events.oldest();
            batch.text = http::format_event(events.id_before(position), {"resync", ""});
        }
        if (batch.text.empty()) {
            return response;
        }
        response.body += batch.text;
    }
}

void add_events(http::Router& router, ApiContext& context) {
    const std::shared_ptr<http::EventStream> events(&context.events, [](http::EventStream*) {});
    router.add("GET", "/v1/events", [events](const Request& request, Reply reply) {
        const std::string last_event_id = request.header("Last-Event-ID");
        const auto follow = request.query.find("follow");
        if (follow != request.query.end() && follow->second == "false") {
            reply(kept_events(*events, last_event_id));
        } else {
            reply.stream({events, last_event_id, {}});
        }
    });
}

void add_operations(http::Router& router, ApiContext& context) {
    router.add("GET", "/v1/operations", [&context](const Request&, Reply reply) {
        reply(json_response(operations_json(context.operations.list())));
    });
    router.add("GET", "/v1/operations/{id}", [&context](const Request& request, Reply reply) {
        const std::string id = request.param("id");
        const auto operation = context.operations.find(id);
        reply(operation ? json_response(operation_json(*operation))
                        : error_response(Error(
                              ErrorCode::not_found,
                              fmt::format("there is no operation {}: the last {} are kept, until "
                                          "virt-vgpud ends",
                                          printable(id, 60), Operations::most_kept))));
    });
}

} // namespace

void add_system_routes(http::Router& router, ApiContext& context) {
    router.add("GET", "/v1/host",
               [&context](const Request&, Reply reply) { reply(host_response(context)); });
    add_reconcile(router, context);
    add_operations(router, context);
    add_events(router, context);
    router.add("GET", "/healthz",
               [](const Request&, Reply reply) { reply(json_response("{\"status\":\"ok\"}\n")); });
    router.add("GET", "/readyz",
               [&context](const Request&, Reply reply) { ready(context, std::move(reply)); });
    const auto metrics =
        SharedAnswer::create(context.queues.host, [&context] { return metrics_response(context); });
    router.add("GET", "/metrics", [&context, metrics](const Request&, Reply reply) {
        context.status.update(
            [&context](Status::View& view) { view.http = context.http_counters(); });
        metrics->ask(std::move(reply));
    });
}

} // namespace vgpu
