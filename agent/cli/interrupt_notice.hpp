#pragma once

#include <list>
#include <string>

namespace vgpu::cli {

/// While it lives, Ctrl-C, SIGTERM and SIGHUP say a text on standard error before they end the
/// program, with 128 and the signal's number as a shell would: 130 for Ctrl-C. A signal that is
/// ignored (nohup, a job in the background) stays so. One at a time.
class InterruptNotice {
public:
    explicit InterruptNotice(const std::string& text);
    ~InterruptNotice();
    InterruptNotice(const InterruptNotice&) = delete;
    InterruptNotice& operator=(const InterruptNotice&) = delete;

    /// Another text from here on.
    void say(const std::string& text);

private:
    std::list<std::string> said_; ///< all: a handler may be reading one while the next is set
};

} // namespace vgpu::cli
