#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vgpu::http {

/// The process at the other end, as the kernel saw it when it connected (SO_PEERCRED): it may have
/// passed the socket on or dropped privileges since, and a pid may be another process by now.
struct Peer {
    pid_t pid = -1;
    uid_t uid = static_cast<uid_t>(-1);
    gid_t gid = static_cast<gid_t>(-1);
};

using HeaderFields = std::vector<std::pair<std::string, std::string>>;

/// The value of the field of that name, in any case; several are joined by ", ". Empty if absent.
std::string header_value(const HeaderFields& fields, std::string_view name);

/// One request, read whole and bounded by Limits. Every text in it is untrusted.
struct Request {
    std::string method; ///< as sent; a HEAD is seen by a handler as "HEAD"
    std::string path;   ///< as sent, without the query
    /// The path's parts, percent-decoded: valid UTF-8 without control characters, none "." or "..".
    std::vector<std::string> segments;
    std::map<std::string, std::string> query;  ///< decoded; a key given twice is refused before
    std::map<std::string, std::string> params; ///< what the route's {name} parts matched
    HeaderFields headers;                      ///< all, in the order sent
    std::string body;
    Peer peer;

    [[nodiscard]] std::string header(std::string_view name) const {
        return header_value(headers, name);
    }
    /// Empty if the route has no such part.
    [[nodiscard]] std::string param(const std::string& name) const {
        const auto found = params.find(name);
        return found == params.end() ? std::string() : found->second;
    }
};

/// An answer. Content-Length, Connection and Date are the server's business.
struct Response {
    int status = 200;
    std::string content_type; ///< empty: none, for an answer without a body
    HeaderFields headers;     ///< such as Location, Retry-After, Allow
    std::string body;
};

} // namespace vgpu::http
