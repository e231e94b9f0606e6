#include "agent/http/router.hpp"

#include "agent/http/problem.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace vgpu::http {

namespace {

bool is_parameter(std::string_view segment) {
    return segment.size() > 2 && segment.front() == '{' && segment.back() == '}';
}

bool matches(const std::vector<std::string>& pattern, const std::vector<std::string>& path) {
    return std::equal(pattern.begin(), pattern.end(), path.begin(), path.end(),
                      [](const std::string& part, const std::string& segment) {
                          return is_parameter(part) ? !segment.empty() : part == segment;
                      });
}

/// Whether `a` has a fixed part where `b` has a parameter, from the left.
bool is_closer(const std::vector<std::string>& a, const std::vector<std::string>& b) {
    const auto different = std::mismatch(a.begin(), a.end(), b.begin(), b.end(),
                                         [](const std::string& x, const std::string& y) {
                                             return is_parameter(x) == is_parameter(y);
                                         });
    return different.first != a.end() && !is_parameter(*different.first);
}

std::vector<std::string> split_pattern(std::string_view pattern) {
    std::vector<std::string> parts;
    while (!pattern.empty()) {
        pattern.remove_prefix(1);
        const auto end = std::min(pattern.find('/'), pattern.size());
        parts.emplace_back(pattern.substr(0, end));
        pattern.remove_prefix(end);
    }
    return parts;
}

std::string join(const std::set<std::string>& names) {
    std::string out;
    for (const auto& name : names) {
        out.append(out.empty() ? "" : ", ").append(name);
    }
    return out;
}

} // namespace

void Router::add(std::string method, std::string_view pattern, Handler handler) {
    routes_.push_back({std::move(method), split_pattern(pattern), std::move(handler)});
}

void Router::operator()(Request request, Reply reply) const {
    const std::string method = request.method == "HEAD" ? "GET" : request.method;
    const Route* found = nullptr;
    std::vector<const Route*> of_path;
    for (const auto& route : routes_) {
        if (matches(route.segments, request.segments)) {
            of_path.push_back(&route);
        }
    }
    // "GET /a/{id}" does not serve GET /a/b where "POST /a/b" is: the closest path is the thing.
    std::set<std::string> allowed;
    for (const auto* route : of_path) {
        if (std::any_of(of_path.begin(), of_path.end(), [route](const Route* other) {
                return is_closer(other->segments, route->segments);
            })) {
            continue;
        }
        allowed.insert(route->method);
        if (route->method == "GET") {
            allowed.insert("HEAD");
        }
        if (found == nullptr && route->method == method) {
            found = route;
        }
    }
    const std::string path = printable(request.path, 120);
    if (of_path.empty()) {
        reply(to_response(protocol_problem(404, "not_found", "there is no " + path + " here")));
        return;
    }
    if (found == nullptr) {
        auto response = to_response(protocol_problem(405, "method_not_allowed",
                                                     path + " takes " + join(allowed) + ", not " +
                                                         printable(request.method, 20)));
        response.headers.emplace_back("Allow", join(allowed));
        reply(std::move(response));
        return;
    }
    for (std::size_t i = 0; i < found->segments.size(); ++i) {
        const std::string& part = found->segments[i];
        if (is_parameter(part)) {
            request.params[part.substr(1, part.size() - 2)] = request.segments[i];
        }
    }
    found->handler(std::move(request), std::move(reply));
}

} // namespace vgpu::http
