#include "agent/core/error.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace vgpu {

namespace {

ErrorCode code_of(int error_number) {
    switch (error_number) {
    case ENOENT:
    case ENODEV:
    case ENXIO:
    case ESRCH:
    case ENOTDIR:
        return ErrorCode::not_found;
    case EBUSY:
    case EAGAIN:
        return ErrorCode::busy;
    case EACCES:
    case EPERM:
    case EROFS:
        return ErrorCode::denied;
    case EEXIST:
        return ErrorCode::conflict;
    case EINVAL:
    case ENAMETOOLONG:
        return ErrorCode::invalid;
    case ENOSPC:
    case EDQUOT:
    case ENOMEM:
    case EMFILE:
    case ENFILE:
        return ErrorCode::unavailable;
    case ETIMEDOUT:
        return ErrorCode::timeout;
    default:
        return ErrorCode::io;
    }
}

/// What a line of a log or of an error may be, in bytes.
constexpr std::size_t most_text = 4000;

} // namespace

Error::Error(ErrorCode code, std::string text, int error_number)
    : code_(code), error_number_(error_number), text_(printable(text, most_text)) {}

Error Error::system(int error_number, std::string_view operation, std::string_view object) {
    std::string text(operation);
    text.append(" ").append(object).append(": ").append(errno_text(error_number));
    return Error(code_of(error_number), std::move(text), error_number);
}

Error Error::in(std::string_view context) const {
    Error outer(*this);
    outer.text_ = printable(std::string(context).append(": ").append(text_), most_text);
    return outer;
}

Error Error::hint(std::string_view hint) const {
    Error helpful(*this);
    helpful.text_ = printable(std::string(text_).append("; ").append(hint), most_text);
    return helpful;
}

Error Error::on(std::string_view device) const {
    Error named(*this);
    if (named.device_.empty()) {
        named.device_ = printable(device);
    }
    return named;
}

Error Error::held_by(std::string_view domain_uuid) const {
    Error held(*this);
    held.holder_ = printable(domain_uuid);
    return held;
}

std::string_view to_string(ErrorCode code) {
    switch (code) {
    case ErrorCode::invalid:
        return "invalid";
    case ErrorCode::not_found:
        return "not_found";
    case ErrorCode::busy:
        return "busy";
    case ErrorCode::conflict:
        return "conflict";
    case ErrorCode::denied:
        return "denied";
    case ErrorCode::unavailable:
        return "unavailable";
    case ErrorCode::io:
        return "io";
    case ErrorCode::corrupt:
        return "corrupt";
    case ErrorCode::timeout:
        return "timeout";
    case ErrorCode::unsupported:
        return "unsupported";
    }
    return "unknown";
}

std::string errno_text(int error_number) {
    // strerrordesc_np (glibc 2.32) is neither localised nor allocating, unlike strerror.
    const char* text = strerrordesc_np(error_number);
    return text != nullptr ? text : "error " + std::to_string(error_number);
}

namespace {

/// The length of the UTF-8 character that `text` begins with, and the character; length 0 if it is
/// none.
std::pair<std::size_t, char32_t> decode(std::string_view text) {
    const auto byte = [&text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char lead = byte(0);
    if (lead < 0x80) {
        return {1, lead};
    }
    const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || text.size() < length) {
        return {0, 0};
    }
    char32_t character = lead & (0xffU >> (length + 1));
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xc0U) != 0x80U) {
            return {0, 0};
        }
        character = character << 6U | (byte(i) & 0x3fU);
    }
    constexpr std::array<char32_t, 5> least{0, 0, 0x80, 0x800, 0x10000};
    return {character < least[length] ? 0 : length, character};
}

/// Control characters, and those that reorder what a terminal shows.
bool is_deceptive(char32_t c) {
    return c < 0x20 || (c >= 0x7f && c <= 0x9f) || c == 0x200e || c == 0x200f || c == 0x2028 ||
           c == 0x2029 || (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) ||
           c == 0xfeff;
}

} // namespace

std::string printable(std::string_view text, std::size_t limit) {
    std::string out;
    while (!text.empty() && out.size() < limit) {
        const auto [length, character] = decode(text);
        if (length == 0 || is_deceptive(character)) {
            out += '?';
        } else {
            out += text.substr(0, length);
        }
        text.remove_prefix(std::max<std::size_t>(length, 1));
    }
    if (!text.empty()) {
        out += "...";
    }
    return out;
}

} // namespace vgpu
