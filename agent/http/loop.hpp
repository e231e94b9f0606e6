#pragma once

#include <functional>
#include <memory>

namespace boost::asio {
class io_context;
}

namespace vgpu::http {

/// The event loop that servers run on, without Asio's headers. One thread runs it.
class Loop {
public:
    Loop();
    ~Loop();
    Loop(const Loop&) = delete;
    Loop& operator=(const Loop&) = delete;

    /// Runs until stop(). Blocks.
    void run();
    /// From any thread: run() returns soon.
    void stop();
    /// Calls `work` on the loop's thread; from any thread while the loop lives.
    void post(std::function<void()> work);
    /// For those that speak Asio themselves.
    boost::asio::io_context& context();

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

} // namespace vgpu::http
