#include "agent/http/reply.hpp"

#include "agent/http/problem.hpp"

#include <utility>

namespace vgpu::http {

Reply& Reply::operator=(Reply&& other) noexcept {
    if (this != &other) {
        drop();
        channel_ = std::move(other.channel_);
    }
    return *this;
}

Reply::~Reply() {
    drop();
}

void Reply::operator()(Response response) {
    if (channel_ != nullptr && channel_->take()) {
        channel_->respond(std::move(response));
    }
}

void Reply::stream(StreamResponse response) {
    if (channel_ != nullptr && channel_->take()) {
        channel_->stream(std::move(response));
    }
}

void Reply::drop() noexcept {
    if (channel_ != nullptr && !channel_->taken()) {
        (*this)(to_response(
            protocol_problem(500, "unanswered", "the request was given up without an answer")));
    }
}

} // namespace vgpu::http
