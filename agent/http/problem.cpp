#include "agent/http/problem.hpp"

#include "agent/http/json_body.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <utility>

namespace vgpu::http {

namespace {

constexpr std::string_view type_prefix = "urn:virt-vgpu:problem:";

struct Kind {
    ErrorCode code;
    int status;
    std::string_view title;
};

constexpr std::array<Kind, 10> kinds{{
    {ErrorCode::invalid, 400, "The request is not valid"},
    {ErrorCode::not_found, 404, "There is no such thing"},
    {ErrorCode::busy, 409, "It is held by somebody else"},
    {ErrorCode::conflict, 409, "The state has changed meanwhile"},
    {ErrorCode::denied, 403, "That is not allowed"},
    {ErrorCode::unavailable, 503, "That is not available at present"},
    {ErrorCode::io, 500, "The kernel or the driver refused"},
    {ErrorCode::corrupt, 500, "A file cannot be understood"},
    {ErrorCode::timeout, 504, "It took too long"},
    {ErrorCode::unsupported, 501, "This host cannot do that"},
}};

/// For answers that are not of problem_of(): the protocol's own, and foreign ones.
ErrorCode code_of_status(int status) {
    switch (status) {
    case 401:
    case 403:
        return ErrorCode::denied;
    case 404:
    case 410:
        return ErrorCode::not_found;
    case 405:
    case 501:
    case 505:
        return ErrorCode::unsupported;
    case 408:
    case 504:
        return ErrorCode::timeout;
    case 409:
    case 412:
        return ErrorCode::conflict;
    case 429:
    case 502:
    case 503:
        return ErrorCode::unavailable;
    default:
        return status < 500 ? ErrorCode::invalid : ErrorCode::io;
    }
}

std::string text_field(const nlohmann::json& object, const char* name) {
    const auto found = object.find(name);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// What a problem says besides its text, for a reader who has one line only: what the text names
/// already is not said again.
std::string with_details(std::string text, const nlohmann::json& document) {
    constexpr std::array<std::pair<const char*, const char*>, 3> fields{
        {{"device", "device "}, {"domain", "domain "}, {"holder", "held by "}}};
    std::string details;
    for (const auto& [name, words] : fields) {
        const std::string value = text_field(document, name);
        if (!value.empty() && text.find(value) == std::string::npos) {
            details.append(details.empty() ? "" : ", ").append(words).append(printable(value));
        }
    }
    return details.empty() ? text : text.append(" (").append(details).append(")");
}

} // namespace

Problem problem_of(const Error& error) {
    Problem problem;
    problem.name = to_string(error.code());
    problem.detail = error.text();
    for (const auto& kind : kinds) {
        if (kind.code == error.code()) {
            problem.status = kind.status;
            problem.title = kind.title;
        }
    }
    if (error.code() == ErrorCode::unavailable) {
        problem.retry_after = std::chrono::seconds(5);
    }
    return problem;
}

Problem protocol_problem(int status, std::string_view name, std::string detail) {
    Problem problem;
    problem.status = status;
    problem.name = name;
    problem.title = reason_phrase(status);
    problem.detail = std::move(detail);
    return problem;
}

Response to_response(const Problem& problem) {
    nlohmann::ordered_json document{
        {"type", std::string(type_prefix) + problem.name},
        {"title", problem.title},
        {"status", problem.status},
        {"detail", problem.detail},
    };
    const auto add = [&document](const char* name, const std::optional<std::string>& value) {
        if (value) {
            document[name] = *value;
        }
    };
    add("device", problem.device);
    add("domain", problem.domain);
    add("holder", problem.holder);
    Response response;
    response.status = problem.status;
    response.content_type = "application/problem+json";
    if (problem.retry_after) {
        response.headers.emplace_back("Retry-After", std::to_string(problem.retry_after->count()));
    }
    using Handling = nlohmann::ordered_json::error_handler_t;
    response.body = document.dump(-1, ' ', false, Handling::replace) + "\n";
    return response;
}

Error error_of(int status, std::string_view content_type, std::string_view body) {
    const std::string answer =
        "virt-vgpud answered " + std::to_string(status) + " " + std::string(reason_phrase(status));
    if (!content_type.starts_with("application/problem+json")) {
        return Error(code_of_status(status), answer);
    }
    const auto document = parse_json(body);
    if (!document || !document->is_object()) {
        return Error(code_of_status(status), answer + " with a problem that cannot be read");
    }
    const std::string detail = text_field(*document, "detail");
    const std::string title = text_field(*document, "title");
    const std::string text = with_details(!detail.empty()  ? detail
                                          : !title.empty() ? title
                                                           : answer,
                                          *document);
    const std::string type = text_field(*document, "type");
    for (const auto& kind : kinds) {
        if (type == std::string(type_prefix) + std::string(to_string(kind.code))) {
            return Error(kind.code, text);
        }
    }
    return Error(code_of_status(status), text);
}

} // namespace vgpu::http
