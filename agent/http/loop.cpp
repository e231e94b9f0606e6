#include "agent/http/loop.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <utility>

namespace vgpu::http {

namespace net = boost::asio;

struct Loop::Impl {
    net::io_context context{1};
    net::executor_work_guard<net::io_context::executor_type> guard{context.get_executor()};
};

Loop::Loop() : impl_(std::make_unique<Impl>()) {}
Loop::~Loop() = default;

void Loop::run() {
    impl_->context.run();
}

void Loop::stop() {
    impl_->context.stop();
}

void Loop::post(std::function<void()> work) {
    net::post(impl_->context, std::move(work));
}

net::io_context& Loop::context() {
    return impl_->context;
}

} // namespace vgpu::http
