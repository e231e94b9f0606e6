#include "agent/cli/interrupt_notice.hpp"

#include "agent/core/error.hpp"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>

namespace vgpu::cli {

namespace {

constexpr std::array interrupts{SIGINT, SIGTERM, SIGHUP};

std::atomic<const std::string*> notice = nullptr;
static_assert(std::atomic<const std::string*>::is_always_lock_free, "a signal handler reads it");

extern "C" void end_with_notice(int signal) {
    if (const std::string* text = notice.load()) {
        const ssize_t written = ::write(STDERR_FILENO, text->data(), text->size());
        (void)written; // nobody is left to be told
    }
    ::_exit(128 + signal);
}

void set_handler(int signal, void (*handler)(int), void (*only_if)(int)) {
    struct sigaction now{};
    if (::sigaction(signal, nullptr, &now) != 0 || now.sa_handler != only_if) {
        return;
    }
    struct sigaction next{};
    next.sa_handler = handler;
    next.sa_flags = SA_RESTART;
    ::sigemptyset(&next.sa_mask);
    (void)::sigaction(signal, &next, nullptr);
}

} // namespace

InterruptNotice::InterruptNotice(const std::string& text) {
    say(text);
    for (const int signal : interrupts) {
        set_handler(signal, end_with_notice, SIG_DFL);
    }
}

InterruptNotice::~InterruptNotice() {
    for (const int signal : interrupts) {
        set_handler(signal, SIG_DFL, end_with_notice);
    }
    notice = nullptr;
}

void InterruptNotice::say(const std::string& text) {
    // On a terminal the line holds "^C", and maybe more, already.
    const char* start = ::isatty(STDERR_FILENO) == 1 ? "\r\n" : "";
    said_.push_back(start + ("virt-vgpu: " + printable(text, text.size())) + "\n");
    notice = &said_.back();
}

} // namespace vgpu::cli
