#include "agent/daemon/api.hpp"
#include "agent/daemon/shared_answer.hpp"
#include "agent/http/json_body.hpp"
#include "xml/instance_request.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>
#include <utility>

namespace vgpu {

namespace {

using http::Reply;
using http::Request;
using http::Response;
using nlohmann::json;
using std::chrono::seconds;

/// An operation's whole time: a guest's shutdown, libvirt's own patience with a VMM (40 s and
/// more), a slow driver.
constexpr seconds longest_change(180);
constexpr seconds longest_view(5);

Response instance_response(const Result<InstanceState>& state, const std::string& target,
                           int status = 200) {
    return state ? json_response(instance_json(*state), status)
                 : error_response(state.error(), target);
}

/// The last list that libvirt gave, for when it does not answer: it holds a domain's lock while
/// that domain's hook runs, and so keeps a whole list waiting.
class LastList {
public:
    Response answer(Result<std::vector<InstanceState>> list) {
        const std::lock_guard lock(mutex_);
        if (list) {
            body_ = instances_json(*list);
            at_ = std::chrono::steady_clock::now();
            return json_response(*body_);
        }
        const bool no_answer = list.error().code() == ErrorCode::timeout ||
                               list.error().code() == ErrorCode::unavailable;
        if (!body_ || !no_answer) {
            return error_response(list.error());
        }
        Response response = json_response(*body_);
        const auto age = std::chrono::steady_clock::now() - at_;
        response.headers.emplace_back(
            "Age", fmt::format("{}", std::chrono::duration_cast<seconds>(age).count() + 1));
        response.headers.emplace_back("Warning", "110 virt-vgpud \"libvirt does not answer: this "
                                                 "list is as old as Age says\"");
        return response;
    }

private:
    std::mutex mutex_;
    std::optional<std::string> body_;
    std::chrono::steady_clock::time_point at_;
};

/// An optional JSON body: nothing at all is an empty object.
tl::expected<json, http::Problem> optional_body(const Request& request) {
    return request.body.empty() ? json::object() : http::parse_json_body(request);
}

http::Problem bad_field(const std::string& detail) {
    return http::protocol_problem(400, "invalid", detail);
}

/// A member of a kind; nullopt if it is absent.
template <typename T>
tl::expected<std::optional<T>, http::Problem> member(const json& object, const std::string& name,
                                                     bool (json::*is)() const noexcept,
                                                     const char* kind) {
    const auto found = object.find(name);
    if (found == object.end()) {
        return std::optional<T>();
    }
    if (!((*found).*is)()) {
        return tl::make_unexpected(bad_field(fmt::format("/{}: must be {}", name, kind)));
    }
    return std::optional<T>(found->template get<T>());
}

tl::expected<void, http::Problem> only(const json& object,
                                       std::initializer_list<const char*> names) {
    if (!object.is_object()) {
        return tl::make_unexpected(bad_field("the body must be a JSON object"));
    }
    for (const auto& entry : object.items()) {
        if (std::none_of(names.begin(), names.end(),
                         [&entry](const char* name) { return entry.key() == name; })) {
            return tl::make_unexpected(
                bad_field(fmt::format("/{}: unknown field", printable(entry.key(), 60))));
        }
    }
    return {};
}

tl::expected<StopOptions, http::Problem> stop_options(const json& body) {
    if (auto known = only(body, {"force", "timeout_s"}); !known) {
        return tl::make_unexpected(known.error());
    }
    StopOptions options;
    auto force = member<bool>(body, "force", &json::is_boolean, "true or false");
    if (!force) {
        return tl::make_unexpected(force.error());
    }
    options.force = force->value_or(false);
    auto time = member<std::int64_t>(body, "timeout_s", &json::is_number_integer, "a whole number");
    if (!time) {
        return tl::make_unexpected(time.error());
    }
    constexpr std::int64_t most = 150;
    if (*time && (**time < 0 || **time > most)) {
        return tl::make_unexpected(bad_field("/timeout_s: must be 0 to 150 seconds"));
    }
    if (*time) {
        options.guest_time = seconds(**time);
    }
    return options;
}

tl::expected<ForkRequest, http::Problem> fork_request(const json& body) {
    if (auto known = only(body, {"name", "uuid", "disks", "share_disks", "start"}); !known) {
        return tl::make_unexpected(known.error());
    }
    ForkRequest request;
    auto name = member<std::string>(body, "name", &json::is_string, "a text");
    auto uuid = member<std::string>(body, "uuid", &json::is_string, "a UUID");
    auto share = member<bool>(body, "share_disks", &json::is_boolean, "true or false");
    auto start = member<bool>(body, "start", &json::is_boolean, "true or false");
    auto disks = member<json>(body, "disks", &json::is_object, "an object of paths");
    for (const auto* problem : {name ? nullptr : &name.error(), uuid ? nullptr : &uuid.error(),
                                share ? nullptr : &share.error(), start ? nullptr : &start.error(),
                                disks ? nullptr : &disks.error()}) {
        if (problem != nullptr) {
            return tl::make_unexpected(*problem);
        }
    }
    if (!*name) {
        return tl::make_unexpected(bad_field("/name: the new domain needs a name"));
    }
    request.name = **name;
    if (*uuid) {
        const auto parsed = Uuid::parse(**uuid);
        if (!parsed) {
            return tl::make_unexpected(bad_field("/uuid: " + parsed.error().text()));
        }
        request.uuid = *parsed;
    }
    request.disks.share_disks = share->value_or(false);
    request.start = start->value_or(false);
    if (*disks) {
        for (const auto& entry : (**disks).items()) {
            if (!entry.value().is_string()) {
                return tl::make_unexpected(bad_field("/disks: every value must be a path"));
            }
            request.disks.disks.emplace(entry.key(), entry.value().get<std::string>());
        }
    }
    return request;
}

void create(ApiContext& context, Request request, Reply reply) {
    const std::string type = request.header("Content-Type");
    if (!type.starts_with("application/json")) {
        reply(http::to_response(
            http::protocol_problem(415, "unsupported_media_type",
                                   "the body must be JSON (Content-Type: application/json)")));
        return;
    }
    auto wanted = xml::parse_instance_request_text(request.body);
    if (!wanted) {
        reply(error_response(wanted.error()));
        return;
    }
    const std::string name = wanted->name;
    act_on(context.queues.changes, context, request, std::move(reply), "create", name,
           [&context, wanted = std::move(*wanted)] {
               const Deadline deadline = Deadline::in(longest_change);
               bool fresh = false;
               const auto made = context.site.get()->lifecycle.create(wanted, deadline, &fresh);
               return instance_response(made, wanted.name, fresh ? 201 : 200);
           });
}

/// An action on one instance, by the path.
using Action = std::function<Response(const std::string& id)>;

void act(ApiContext& context, const Request& request, Reply reply, const std::string& kind,
         Action action) {
    const std::string id = request.param("id");
    act_on(context.queues.changes, context, request, std::move(reply), kind, id,
           [id, action = std::move(action)] { return action(id); });
}

void add_actions(http::Router& router, ApiContext& context) {
    router.add("POST", "/v1/instances/{id}/start", [&context](Request request, Reply reply) {
        act(context, request, std::move(reply), "start", [&context](const std::string& id) {
            return instance_response(
                context.site.get()->lifecycle.start(id, Deadline::in(longest_change)), id);
        });
    });
    router.add("POST", "/v1/instances/{id}/reboot", [&context](Request request, Reply reply) {
        act(context, request, std::move(reply), "reboot", [&context](const std::string& id) {
            return instance_response(
                context.site.get()->lifecycle.reboot(id, Deadline::in(longest_change)), id);
        });
    });
    router.add("POST", "/v1/instances/{id}/stop", [&context](Request request, Reply reply) {
        const auto body = optional_body(request);
        const auto options = body ? stop_options(*body) : tl::make_unexpected(body.error());
        if (!options) {
            reply(http::to_response(options.error()));
            return;
        }
        act(context, request, std::move(reply), "stop",
            [&context, options = *options](const std::string& id) {
                return instance_response(
                    context.site.get()->lifecycle.stop(id, options, Deadline::in(longest_change)),
                    id);
            });
    });
    router.add("POST", "/v1/instances/{id}/fork", [&context](Request request, Reply reply) {
        const auto body = http::parse_json_body(request);
        const auto wanted = body ? fork_request(*body) : tl::make_unexpected(body.error());
        if (!wanted) {
            reply(http::to_response(wanted.error()));
            return;
        }
        act(context, request, std::move(reply), "fork",
            [&context, wanted = *wanted](const std::string& id) {
                return instance_response(
                    context.site.get()->lifecycle.fork(id, wanted, Deadline::in(longest_change)),
                    id, 201);
            });
    });
    router.add("DELETE", "/v1/instances/{id}", [&context](Request request, Reply reply) {
        StopOptions options;
        const auto force = request.query.find("force");
        options.force = force != request.query.end() && force->second == "true";
        act(context, request, std::move(reply), "delete",
            [&context, options](const std::string& id) {
                const auto gone =
                    context.site.get()->lifecycle.remove(id, options, Deadline::in(longest_change));
                if (!gone) {
                    return error_response(gone.error(), id);
                }
                Response response;
                response.status = 204;
                return response;
            });
    });
}

} // namespace

void add_instance_routes(http::Router& router, ApiContext& context) {
    router.add("POST", "/v1/instances", [&context](Request request, Reply reply) {
        create(context, std::move(request), std::move(reply));
    });
    const auto list =
        SharedAnswer::create(context.queues.views, [&context, last = std::make_shared<LastList>()] {
            return last->answer(context.site.get()->lifecycle.list(Deadline::in(longest_view)));
        });
    router.add("GET", "/v1/instances",
               [list](const Request&, Reply reply) { list->ask(std::move(reply)); });
    router.add("GET", "/v1/instances/{id}", [&context](const Request& request, Reply reply) {
        answer_on(context.queues.views, std::move(reply), [&context, id = request.param("id")] {
            return instance_response(
                context.site.get()->lifecycle.get(id, Deadline::in(longest_view)), id);
        });
    });
    add_actions(router, context);
}

} // namespace vgpu
