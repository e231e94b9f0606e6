#include "agent/http/response_head.hpp"

#include "agent/http/problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace vgpu::http {

namespace {

bool is_clean(std::string_view text) {
    return std::none_of(text.begin(), text.end(), [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return (byte < 0x20 && byte != '\t') || byte == 0x7f;
    });
}

void add(std::string& head, std::string_view name, std::string_view value) {
    if (is_clean(name) && is_clean(value)) {
        head.append(name).append(": ").append(value).append("\r\n");
    }
}

constexpr std::array<std::pair<int, std::string_view>, 28> phrases{{
    {100, "Continue"},
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {303, "See Other"},
    {304, "Not Modified"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {410, "Gone"},
    {412, "Precondition Failed"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {417, "Expectation Failed"},
    {422, "Unprocessable Content"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
}};

} // namespace

std::string_view reason_phrase(int status) {
    for (const auto& [number, phrase] : phrases) {
        if (number == status) {
            return phrase;
        }
    }
    return "Unknown";
}

std::string response_head(const Response& response, Framing framing) {
    std::string head =
        fmt::format("HTTP/1.1 {} {}\r\n", response.status, reason_phrase(response.status));
    if (!response.content_type.empty()) {
        add(head, "Content-Type", response.content_type);
    }
    for (const auto& [name, value] : response.headers) {
        add(head, name, value);
    }
    if (framing.chunked) {
        add(head, "Transfer-Encoding", "chunked");
    } else if (response.status != 204 && response.status != 304) {
        add(head, "Content-Length", std::to_string(response.body.size()));
    }
    if (!framing.keep_alive) {
        add(head, "Connection", "close");
    } else if (framing.minor_version == 0) {
        add(head, "Connection", "keep-alive");
    }
    return head.append("\r\n");
}

std::string chunk(const std::string& data) {
    return fmt::format("{:x}\r\n{}\r\n", data.size(), data);
}

} // namespace vgpu::http
