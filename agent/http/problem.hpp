#pragma once

#include "agent/core/error.hpp"
#include "agent/http/message.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace vgpu::http {

/// Why a request was not served, for programs and people (RFC 9457).
struct Problem {
    int status = 500;
    /// The last part of the type "urn:virt-vgpu:problem:NAME": what programs decide on.
    std::string name;
    std::string title;                               ///< the same for all problems of that name
    std::string detail;                              ///< this case: what happened and what to do
    std::optional<std::string> device;               ///< PCI address or mdev UUID
    std::optional<std::string> domain;               ///< name or UUID
    std::optional<std::string> holder;               ///< who has the device: a domain's UUID
    std::optional<std::chrono::seconds> retry_after; ///< sent as the header field
};

/// The problem that tells a failure of the core: its name is the code's, its detail the text.
Problem problem_of(const Error& error);

/// A problem of the protocol itself; the title is the status' own phrase.
Problem protocol_problem(int status, std::string_view name, std::string detail);

/// As application/problem+json. Bytes that are no UTF-8 are replaced.
Response to_response(const Problem& problem);

/// The failure that an answer of `status` with this body tells: the way back from problem_of().
/// Device, domain and holder are added to the text where it does not name them itself.
/// A body that is no problem document gives a text that names the status.
Error error_of(int status, std::string_view content_type, std::string_view body);

/// "Not Found" for 404; never empty.
std::string_view reason_phrase(int status);

} // namespace vgpu::http
