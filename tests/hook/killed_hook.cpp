#include "tests/hook/killed_hook.hpp"

#include "tests/hook/hook_process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <set>
#include <stdexcept>

namespace vgpu::test {

namespace {

[[noreturn]] void run_traced(int input, const std::string& config,
                             const std::vector<std::string>& arguments) {
    const int null = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    ::raise(SIGSTOP);
    exec_hook(input, null, config, arguments);
}

/// The traced processes, one system call after the other.
class Trace {
public:
    Trace(pid_t hook, std::size_t n) : hook_(hook), n_(n) {
        ::waitpid(hook_, nullptr, 0);
        ::ptrace(PTRACE_SETOPTIONS, hook_, nullptr,
                 PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_EXITKILL);
        alive_.insert(hook_);
        ::ptrace(PTRACE_SYSCALL, hook_, nullptr, nullptr);
    }

    /// Until every process is gone.
    bool run(long& call) {
        while (!alive_.empty()) {
            int status = 0;
            const pid_t pid = ::waitpid(-1, &status, __WALL);
            if (pid < 0) {
                if (errno == EINTR) {
                    continue;
                }
                break;
            }
            if (WIFEXITED(status) || WIFSIGNALED(status)) {
                alive_.erase(pid);
                entered_.erase(pid);
            } else if (alive_.insert(pid).second || WSTOPSIG(status) == SIGSTOP) {
                ::ptrace(PTRACE_SYSCALL, pid, nullptr, nullptr); // a new child's first stop
            } else {
                stopped(pid, status, call);
            }
        }
        return killed_;
    }

    [[nodiscard]] const std::vector<TracedCall>& calls() const { return calls_; }

private:
    void stopped(pid_t pid, int status, long& call) {
        const int signal = WSTOPSIG(status);
        if (status >> 8 == (SIGTRAP | (PTRACE_EVENT_FORK << 8))) {
            // Known before its first stop: should the hook be killed right now, the child still has
            // to be let go.
            unsigned long child = 0;
            ::ptrace(PTRACE_GETEVENTMSG, pid, nullptr, &child);
            alive_.insert(static_cast<pid_t>(child));
        }
        if (signal != (SIGTRAP | 0x80)) {
            ::ptrace(PTRACE_SYSCALL, pid, nullptr, signal == SIGTRAP ? 0 : signal);
            return;
        }
        // Stops come in pairs, at a call's entry and at its end.
        if (entered_.erase(pid) == 0) {
            entered_.insert(pid);
            user_regs_struct registers{};
            ::ptrace(PTRACE_GETREGS, pid, nullptr, &registers);
            calls_.push_back({pid == hook_, static_cast<long>(registers.orig_rax)});
            if (calls_.size() == n_) {
                call = calls_.back().number;
                killed_ = true;
                ::kill(hook_, SIGKILL);
            }
        }
        ::ptrace(PTRACE_SYSCALL, pid, nullptr, nullptr);
    }

    pid_t hook_;
    std::size_t n_;
    std::vector<TracedCall> calls_;
    bool killed_ = false;
    std::set<pid_t> alive_;
    std::set<pid_t> entered_;
};

pid_t start_traced(const std::string& config, const std::vector<std::string>& arguments,
                   const std::string& xml) {
    char name[] = "/tmp/vgpu-hook-stdin.XXXXXX";
    const int input = ::mkstemp(name);
    ::unlink(name);
    if (::write(input, xml.data(), xml.size()) != static_cast<ssize_t>(xml.size())) {
        throw std::runtime_error("the hook's input could not be written");
    }
    ::lseek(input, 0, SEEK_SET);
    const pid_t hook = ::fork();
    if (hook == 0) {
        run_traced(input, config, arguments);
    }
    ::close(input);
    return hook;
}

} // namespace

bool kill_hook_at(std::size_t n, const std::string& config,
                  const std::vector<std::string>& arguments, const std::string& xml, long& call) {
    return Trace(start_traced(config, arguments, xml), n).run(call);
}

std::vector<TracedCall> trace_hook(const std::string& config,
                                   const std::vector<std::string>& arguments,
                                   const std::string& xml) {
    Trace trace(start_traced(config, arguments, xml), 0);
    long none = 0;
    trace.run(none);
    return trace.calls();
}

} // namespace vgpu::test
