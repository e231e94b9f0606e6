#pragma once

#include "agent/http/reply.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace vgpu::http {

/// Finds the handler for a request's method and path; itself a Handler.
///
/// Unknown paths get a 404 problem, other methods of a known path a 405 with Allow, and HEAD goes
/// to GET's handler (the server sends no body). A fixed part of a path goes before a {name}.
class Router {
public:
    /// `pattern` such as "/v1/instances/{id}". Routes are added before the server starts; the same
    /// method and pattern twice: the first one counts.
    void add(std::string method, std::string_view pattern, Handler handler);

    void operator()(Request request, Reply reply) const;

private:
    struct Route {
        std::string method;
        std::vector<std::string> segments; ///< "{id}" with its braces
        Handler handler;
    };
    std::vector<Route> routes_;
};

} // namespace vgpu::http
