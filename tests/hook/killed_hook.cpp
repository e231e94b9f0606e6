#include "tests/hook/killed_hook.hpp"

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
    ::dup2(input, STDIN_FILENO);
    const int null = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    ::dup2(null, STDOUT_FILENO);
    ::dup2(null, STDERR_FILENO);
    ::setenv("VIRT_VGPU_CONFIG", config.c_str(), 1);
    std::vector<char*> argv{const_cast<char*>(VGPU_HOOK_PATH)};
    for (const std::string& argument : arguments) {
        argv.push_back(const_cast<char*>(argument.c_str()));
    }
    argv.push_back(nullptr);
    ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    ::raise(SIGSTOP);
    ::execv(VGPU_HOOK_PATH, argv.data());
    ::_exit(127);
}

/// The traced processes, one system call after the other.
class Trace {
public:
    Trace(pid_t hook, int n) : hook_(hook), n_(n) {
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
            if (++calls_ == n_) {
                user_regs_struct registers{};
                ::ptrace(PTRACE_GETREGS, pid, nullptr, &registers);
                call = static_cast<long>(registers.orig_rax);
                killed_ = true;
                ::kill(hook_, SIGKILL);
            }
        }
        ::ptrace(PTRACE_SYSCALL, pid, nullptr, nullptr);
    }

    pid_t hook_;
    int n_;
    int calls_ = 0;
    bool killed_ = false;
    std::set<pid_t> alive_;
    std::set<pid_t> entered_;
};

} // namespace

bool kill_hook_at(int n, const std::string& config, const std::vector<std::string>& arguments,
                  const std::string& xml, long& call) {
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
    return Trace(hook, n).run(call);
}

} // namespace vgpu::test
