#pragma once

#include "agent/core/result.hpp"
#include "agent/http/client.hpp"

#include <string>
#include <string_view>

namespace vgpu::http {

/// Takes one answer apart, however it was cut into pieces; trusts no length in it.
class ResponseReader {
public:
    ResponseReader(ClientLimits limits, bool bodiless) : limits_(limits), bodiless_(bodiless) {}

    /// `io` if it is no HTTP/1.x answer or larger than the limits. Bytes after its end are ignored.
    /// Holds no more than the limits and one such piece; its time is in proportion to `bytes`.
    [[nodiscard]] Result<void> feed(std::string_view bytes);
    /// The server has closed; `io` if the answer is not complete by that.
    [[nodiscard]] Result<void> end();

    [[nodiscard]] bool has_head() const { return state_ > State::head; }
    [[nodiscard]] bool is_done() const { return state_ == State::done; }
    /// The answer so far; its body may be taken out of it to make room.
    ClientResponse response;

private:
    enum class State { head, length, until_close, chunk_size, chunk, chunk_end, trailer, done };
    Result<bool> step();
    Result<bool> take_head();
    Result<void> count_head(std::size_t bytes);
    Result<bool> take_chunk_end();
    Result<bool> take_trailer();
    Result<void> take_fields(std::string_view lines);
    Result<void> choose_framing();
    Result<bool> take_body();
    Result<bool> take_chunk_size();
    Result<bool> take_line(std::string_view& line, std::size_t limit);
    [[nodiscard]] std::string_view rest() const { return std::string_view(input_).substr(at_); }

    ClientLimits limits_;
    bool bodiless_;
    State state_ = State::head;
    std::string input_;
    std::size_t at_ = 0;         ///< how much of the input has been taken
    std::size_t head_bytes_ = 0; ///< of interim answers, the header and trailers together
    std::uint64_t left_ = 0;
};

} // namespace vgpu::http
