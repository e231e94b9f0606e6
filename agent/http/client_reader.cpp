#include "agent/http/client_reader.hpp"

#include "agent/http/text.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace vgpu::http {

namespace {

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
    case State::trailer: {
        std::string line;
        VGPU_TRY_ASSIGN(const bool found, take_line(line));
        if (!found) {
            return false;
        }
        if (state_ == State::chunk_end && !line.empty()) {
            return broken("a chunk is longer than it says");
        }
        if (line.empty()) {
            state_ = state_ == State::chunk_end ? State::chunk_size : State::done;
        }
        return true;
    }
    case State::done:
        input_.clear();
        return false;
    }
    return false;
}

Result<bool> ResponseReader::take_line(std::string& line) {
    const auto end = input_.find("\r\n");
    if (end == std::string::npos) {
        return input_.size() <= limits_.head ? Result<bool>(false)
                                             : Result<bool>(broken("a line is too long"));
    }
    line = input_.substr(0, end);
    input_.erase(0, end + 2);
    return true;
}

Result<bool> ResponseReader::take_head() {
    const auto end = input_.find("\r\n\r\n");
    if (std::min(end, input_.size()) > limits_.head) {
        return broken("its header has more than " + std::to_string(limits_.head) + " bytes");
    }
    if (end == std::string::npos) {
        return false;
    }
    const std::string head = input_.substr(0, end + 2);
    input_.erase(0, end + 4);
    const std::string_view status_line = std::string_view(head).substr(0, head.find("\r\n"));
    response = {};
    // "HTTP/1.1 200 OK": the phrase and even the space before it may be missing.
    if (!status_line.starts_with("HTTP/1.") || status_line.size() < 12 || status_line[8] != ' ' ||
        !to_number(status_line.substr(9, 3), response.status, 10) || response.status < 100) {
        return broken("it begins with '" + printable(status_line, 60) + "'");
    }
    VGPU_TRY(take_fields(std::string_view(head).substr(status_line.size() + 2)));
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
    std::string line;
    VGPU_TRY_ASSIGN(const bool found, take_line(line));
    if (!found) {
        return false;
    }
    if (!to_number(trim(std::string_view(line).substr(0, line.find(';'))), left_, 16)) {
        return broken("a chunk's size is '" + printable(line, 60) + "'");
    }
    state_ = left_ == 0 ? State::trailer : State::chunk;
    return true;
}

Result<bool> ResponseReader::take_body() {
    const std::size_t size =
        state_ == State::until_close
            ? input_.size()
            : static_cast<std::size_t>(std::min<std::uint64_t>(left_, input_.size()));
    if (size == 0) {
        return false;
    }
    if (response.body.size() + size > limits_.body) {
        return broken("its body has more than " + std::to_string(limits_.body) + " bytes");
    }
    response.body.append(input_, 0, size);
    input_.erase(0, size);
    if (state_ != State::until_close) {
        left_ -= size;
        if (left_ == 0) {
            state_ = state_ == State::chunk ? State::chunk_end : State::done;
        }
    }
    return true;
}

} // namespace vgpu::http
