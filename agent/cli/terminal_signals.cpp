#include "agent/cli/terminal_signals.hpp"

#include <sys/signalfd.h>

namespace vgpu::cli {

TerminalSignals::TerminalSignals() {
    sigset_t set{};
    ::sigemptyset(&set);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH}) {
        ::sigaddset(&set, signal);
    }
    (void)::pthread_sigmask(SIG_BLOCK, &set, &before_);
    fd_ = UniqueFd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

TerminalSignals::~TerminalSignals() {
    (void)::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

int TerminalSignals::take() const {
    signalfd_siginfo info{};
    return ::read(fd_.get(), &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo)
                                                                : 0;
}

} // namespace vgpu::cli
