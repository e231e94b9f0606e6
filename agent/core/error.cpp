#include "agent/core/error.hpp"

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

} // namespace

Error::Error(ErrorCode code, std::string text, int error_number)
    : code_(code), error_number_(error_number), text_(printable(text, 4000)) {}

Error Error::system(int error_number, std::string_view operation, std::string_view object) {
    std::string text(operation);
    text.append(" ").append(object).append(": ").append(errno_text(error_number));
    return Error(code_of(error_number), std::move(text), error_number);
}

Error Error::in(std::string_view context) const {
    return Error(code_, std::string(context).append(": ").append(text_), error_number_);
}

Error Error::hint(std::string_view hint) const {
    return Error(code_, std::string(text_).append("; ").append(hint), error_number_);
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

std::string printable(std::string_view text, std::size_t limit) {
    const bool cut = text.size() > limit;
    std::string out(text.substr(0, limit));
    for (char& c : out) {
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
            c = '?';
        }
    }
    if (cut) {
        out += "...";
    }
    return out;
}

} // namespace vgpu
