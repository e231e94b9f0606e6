#include "agent/http/header_check.hpp"

#include "agent/http/text.hpp"

#include <algorithm>

namespace vgpu::http {

namespace {

auto count(const HeaderFields& fields, std::string_view name) {
    return std::count_if(fields.begin(), fields.end(), [name](const auto& field) {
        return equal_ignoring_case(field.first, name);
    });
}

} // namespace

std::optional<Refusal> check_header(const HeaderFields& fields, std::string_view target,
                                    int minor_version, const Limits& limits) {
    if (target.size() > limits.request_line) {
        return over_limit(414, "target_too_long", "the request's target is too long");
    }
    const auto hosts = count(fields, "Host");
    if (hosts > 1 || (hosts == 0 && minor_version == 1)) {
        return malformed("a request has one Host field");
    }
    if (count(fields, "Content-Type") > 1) {
        return malformed("the request has more than one Content-Type");
    }
    // A body that is framed in a way not known here would be read as the next request.
    const auto encodings = count(fields, "Transfer-Encoding");
    if (encodings > 1 ||
        (encodings == 1 &&
         (minor_version == 0 ||
          !equal_ignoring_case(header_value(fields, "Transfer-Encoding"), "chunked")))) {
        return Refusal{protocol_problem(501, "unsupported_encoding",
                                        "of transfer encodings only 'chunked' is known"),
                       &Counters::requests_malformed};
    }
    const std::string expect = header_value(fields, "Expect");
    if (!expect.empty() && !equal_ignoring_case(expect, "100-continue")) {
        return Refusal{protocol_problem(417, "unknown_expectation",
                                        "of expectations only '100-continue' is known"),
                       &Counters::requests_malformed};
    }
    return std::nullopt;
}

} // namespace vgpu::http
