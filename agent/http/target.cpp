#include "agent/http/target.hpp"

#include "agent/http/text.hpp"

#include <charconv>
#include <utility>

namespace vgpu::http {

namespace {

Result<std::string> decode(std::string_view text, bool plus_is_space) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            out += plus_is_space && text[i] == '+' ? ' ' : text[i];
            continue;
        }
        const std::string_view digits = text.substr(i + 1, 2);
        unsigned value = 0;
        const auto [end, error] =
            std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
        if (error != std::errc() || digits.size() != 2 || end != digits.data() + 2) {
            return fail(ErrorCode::invalid,
                        "a '%' in the target is not followed by two hex digits");
        }
        out += static_cast<char>(value);
        i += 2;
    }
    if (printable(out, out.size() + 1) != out) {
        return fail(ErrorCode::invalid,
                    "the target has control characters or bytes that are no UTF-8");
    }
    return out;
}

/// Calls `each` with the parts of `text` between separators, until one fails.
template <typename F>
Result<void> split(std::string_view text, char separator, F each) {
    while (true) {
        const auto end = text.find(separator);
        VGPU_TRY(each(text.substr(0, end)));
        if (end == std::string_view::npos) {
            return {};
        }
        text.remove_prefix(end + 1);
    }
}

Result<void> add_segment(Target& target, std::string_view part) {
    VGPU_TRY_ASSIGN(std::string segment, decode(part, false));
    if (segment == "." || segment == "..") {
        return fail(ErrorCode::invalid, "the path has a segment '" + segment + "'");
    }
    target.segments.push_back(std::move(segment));
    return {};
}

Result<void> add_pair(Target& target, std::string_view part) {
    const auto equals = part.find('=');
    VGPU_TRY_ASSIGN(std::string key, decode(part.substr(0, equals), true));
    VGPU_TRY_ASSIGN(std::string value,
                    decode(equals == std::string_view::npos ? "" : part.substr(equals + 1), true));
    if (!target.query.emplace(key, std::move(value)).second) {
        return fail(ErrorCode::invalid,
                    "the query names '" + printable(key, 80) + "' twice; give it once");
    }
    return {};
}

} // namespace

Result<Target> parse_target(std::string_view text) {
    constexpr std::string_view scheme = "http://";
    if (equal_ignoring_case(text.substr(0, scheme.size()), scheme)) {
        const auto path = text.find('/', scheme.size());
        text = path == std::string_view::npos ? "/" : text.substr(path);
    }
    if (!text.starts_with('/')) {
        return fail(ErrorCode::invalid, "the target must be a path that begins with '/'");
    }
    if (text.find('#') != std::string_view::npos) {
        return fail(ErrorCode::invalid, "the target has a fragment ('#'), which is never sent");
    }
    const auto question = text.find('?');
    Target target;
    target.path = text.substr(0, question);
    VGPU_TRY(split(std::string_view(target.path).substr(1), '/',
                   [&target](std::string_view part) { return add_segment(target, part); }));
    if (question != std::string_view::npos && question + 1 < text.size()) {
        VGPU_TRY(split(text.substr(question + 1), '&',
                       [&target](std::string_view part) { return add_pair(target, part); }));
    }
    return target;
}

std::string encode_segment(std::string_view text) {
    constexpr std::string_view unreserved =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    constexpr std::string_view digits = "0123456789ABCDEF";
    std::string out;
    for (const char c : text) {
        if (unreserved.find(c) != std::string_view::npos) {
            out += c;
        } else {
            const auto byte = static_cast<unsigned char>(c);
            out.append({'%', digits[byte >> 4U], digits[byte & 0xfU]});
        }
    }
    return out;
}

} // namespace vgpu::http
