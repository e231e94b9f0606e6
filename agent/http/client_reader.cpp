#include "agent/http/client_reader.hpp"

#include "agent/http/text.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace vgpu::http {

namespace {

/// A chunk's size with its extensions.
constexpr std::size_t longest_chunk_line = 4096;

tl::unexpected<Error> broken(std::string_view why) {
    return fail(ErrorCode::io, "virt-vgpud's answer is not understood: " + std::string(why));
}

/// The whole text as a number; false if it is none.
template <typename T>
bool to_number(std::string_view text, T& value, int base) {
    const char* const last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data(), last, value, base);
    return error == std::errc() && end == last && !text.empty();
}

} // namespace

Result<void> ResponseReader::feed(std::string_view bytes) {
    input_ += bytes;
    while (true) {
        VGPU_TRY_ASSIGN(const bool advanced, step());
        if (!advanced) {
            input_.erase(0, std::exchange(at_, 0));
            return {};
        }
    }
}

Result<void> ResponseReader::end() {
    if (state_ == State::until_close) {
        state_ = State::done;
    }
    if (state_ != State::done) {
        return fail(ErrorCode::io, has_head() ? "virt-vgpud closed the connection within its answer"
                                              : "virt-vgpud closed the connection unanswered");
    }
    return {};
}

/// Whether something was taken from the input.
Result<bool> ResponseReader::step() {
    switch (state_) {
    case State::head:
        return take_head();
    case State::length:
    case State::until_close:
    case State::chunk:
        return take_body();
    case State::chunk_size:
        return take_chunk_size();
    case State::chunk_end:
        return take_chunk_end();
    case State::trailer:
        return take_trailer();
    case State::done:
        at_ = input_.size();
        return false;
    }
    return false;
}

Result<bool> ResponseReader::take_line(std::string_view& line, std::size_t limit) {
    const std::string_view text = rest();
    const auto end = text.find("\r\n");
    if (std::min(end, text.size()) > limit) {
        return broken("a line is too long");
    }
    if (end == std::string_view::npos) {
        return false;
    }
    line = text.substr(0, end);
    at_ += end + 2;
    return true;
}

Result<void> ResponseReader::count_head(std::size_t bytes) {
    head_bytes_ += bytes;
    if (head_bytes_ > limits_.head) {
        return broken("its header has more than " + std::to_string(limits_.head) + " bytes");
    }
    return {};
}

Result<bool> ResponseReader::take_head() {
    const std::string_view text = rest();
    const auto end = text.find("\r\n\r\n");
    if (end == std::string_view::npos) {
        // Counted only once it is complete.
        const Result<void> fits = count_head(text.size());
        head_bytes_ -= text.size();
        return fits.map([] { return false; });
    }
    VGPU_TRY(count_head(end + 4));
    const std::string_view head = text.substr(0, end + 2);
    at_ += end + 4;
    const std::string_view status_line = head.substr(0, head.find("\r\n"));
    response = {};
    // "HTTP/1.1 200 OK": the phrase and even the space before it may be missing.
    if (!status_line.starts_with("HTTP/1.") || status_line.size() < 12 || status_line[8] != ' ' ||
        !to_number(status_line.substr(9, 3), response.status, 10) || response.status < 100) {
        return broken("it begins with '" + printable(status_line, 60) + "'");
    }
    VGPU_TRY(take_fields(head.substr(status_line.size() + 2)));
    if (response.status >= 200) { // else only an interim answer
        VGPU_TRY(choose_framing());
    }
    return true;
}

Result<void> ResponseReader::take_fields(std::string_view lines) {
    while (!lines.empty()) {
        const auto end = lines.find("\r\n");
        const std::string_view line = lines.substr(0, end);
        lines.remove_prefix(end + 2);
        const auto colon = line.find(':');
        if (colon == std::string_view::npos || colon == 0) {
            return broken("its header has the line '" + printable(line, 60) + "'");
        }
        response.headers.emplace_back(line.substr(0, colon), trim(line.substr(colon + 1)));
    }
    return {};
}

Result<void> ResponseReader::choose_framing() {
    const std::string encoding = header_value(response.headers, "Transfer-Encoding");
    const std::string length = header_value(response.headers, "Content-Length");
    if (bodiless_ || response.status == 204 || response.status == 304) {
        state_ = State::done;
    } else if (!encoding.empty()) {
        if (!equal_ignoring_case(encoding, "chunked")) {
            return broken("its transfer encoding is '" + printable(encoding, 60) + "'");
        }
        state_ = State::chunk_size;
    } else if (length.empty()) {
        state_ = State::until_close;
    } else if (!to_number(std::string_view(length), left_, 10)) {
        return broken("its length is '" + printable(length, 60) + "'");
    } else if (left_ > limits_.body) {
        return broken("its body has more than " + std::to_string(limits_.body) + " bytes");
    } else {
        state_ = left_ == 0 ? State::done : State::length;
    }
    return {};
}

Result<bool> ResponseReader::take_chunk_size() {
    std::string_view line;
    VGPU_TRY_ASSIGN(const bool found, take_line(line, longest_chunk_line));
    if (!found) {
        return false;
    }
    if (!to_number(trim(line.substr(0, line.find(';'))), left_, 16)) {
        return broken("a chunk's size is '" + printable(line, 60) + "'");
    }
    state_ = left_ == 0 ? State::trailer : State::chunk;
    return true;
}

Result<bool> ResponseReader::take_chunk_end() {
    std::string_view line;
    VGPU_TRY_ASSIGN(const bool found, take_line(line, longest_chunk_line));
    if (found && !line.empty()) {
        return broken("a chunk is longer than it says");
    }
    state_ = found ? State::chunk_size : state_;
    return found;
}

Result<bool> ResponseReader::take_trailer() {
    std::string_view line;
    VGPU_TRY_ASSIGN(const bool found, take_line(line, limits_.head));
    if (found) {
        VGPU_TRY(count_head(line.size() + 2));
        state_ = line.empty() ? State::done : state_;
    }
    return found;
}

Result<bool> ResponseReader::take_body() {
    const std::size_t size =
        state_ == State::until_close
            ? rest().size()
            : static_cast<std::size_t>(std::min<std::uint64_t>(left_, rest().size()));
    if (size == 0) {
        return false;
    }
    if (response.body.size() + size > limits_.body) {
        return broken("its body has more than " + std::to_string(limits_.body) + " bytes");
    }
    response.body.append(rest().substr(0, size));
    at_ += size;
    if (state_ != State::until_close) {
        left_ -= size;
        if (left_ == 0) {
            state_ = state_ == State::chunk ? State::chunk_end : State::done;
        }
    }
    return true;
}

} // namespace vgpu::http
