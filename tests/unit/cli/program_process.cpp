#include "tests/unit/cli/program_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utmp.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <stdexcept>
#include <system_error>

namespace vgpu::test {

namespace {

constexpr int patience_ms = 60000;

[[noreturn]] void fail_with_errno(const char* what) {
    throw std::system_error(errno, std::generic_category(), what);
}

} // namespace

ProgramProcess::ProgramProcess(const std::vector<std::string>& arguments, const std::string& config,
                               Console console, const std::string& input)
    : terminal_(console == Console::terminal) {
    write_file(directory_ / "in", input);
    if (terminal_) {
        int master = -1;
        int slave = -1;
        const winsize size{24, 80, 0, 0};
        if (::openpty(&master, &slave, nullptr, nullptr, &size) != 0) {
            fail_with_errno("open a terminal");
        }
        output_ = UniqueFd(master);
        initial_settings_ = terminal_settings();
        pid_ = ::fork();
        if (pid_ == 0) {
            ::login_tty(slave);
            ::setenv("TERM", "xterm", 1);
            run_child(arguments, config);
        }
        ::close(slave);
    } else {
        std::array<int, 2> ends{};
        if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
            fail_with_errno("pipe");
        }
        pid_ = ::fork();
        if (pid_ == 0) {
            ::dup2(::open((directory_ / "in").c_str(), O_RDONLY), STDIN_FILENO);
            ::dup2(ends[1], STDOUT_FILENO);
            ::dup2(::open((directory_ / "err").c_str(), O_WRONLY | O_CREAT, 0600), STDERR_FILENO);
            run_child(arguments, config);
        }
        ::close(ends[1]);
        output_ = UniqueFd(ends[0]);
    }
    if (pid_ < 0) {
        fail_with_errno("fork");
    }
}

void ProgramProcess::run_child(const std::vector<std::string>& arguments,
                               const std::string& config) const {
    std::vector<std::string> words{VGPU_PROGRAM};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> pointers;
    for (std::string& word : words) {
        pointers.push_back(word.data());
    }
    pointers.push_back(nullptr);
    ::setenv("VIRT_VGPU_CONFIG", config.c_str(), 1);
    ::execv(VGPU_PROGRAM, pointers.data());
    ::_exit(127);
}

ProgramProcess::~ProgramProcess() {
    if (pid_ > 0) {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }
}

bool ProgramProcess::read_more() {
    pollfd waiting{output_.get(), POLLIN, 0};
    if (::poll(&waiting, 1, patience_ms) == 0) {
        throw std::runtime_error("the program says no more than: " + pending_);
    }
    std::array<char, 4096> buffer{};
    const ssize_t count = ::read(output_.get(), buffer.data(), buffer.size());
    if (count > 0) {
        pending_.append(buffer.data(), static_cast<std::size_t>(count));
    }
    return count > 0; // a terminal ends with EIO
}

std::string ProgramProcess::read_until(const std::string& text) {
    std::size_t at = std::string::npos;
    while ((at = pending_.find(text)) == std::string::npos) {
        if (!read_more()) {
            throw std::runtime_error("the program ended without '" + text + "': " + pending_);
        }
    }
    std::string read = pending_.substr(0, at + text.size());
    pending_.erase(0, at + text.size());
    return read;
}

void ProgramProcess::send_signal(int signal) const {
    if (::kill(pid_, signal) != 0) {
        fail_with_errno("kill");
    }
}

void ProgramProcess::type(const std::string& keys) const {
    if (::write(output_.get(), keys.data(), keys.size()) != static_cast<ssize_t>(keys.size())) {
        fail_with_errno("write to the terminal");
    }
}

void ProgramProcess::resize(unsigned short rows, unsigned short columns) const {
    const winsize size{rows, columns, 0, 0};
    if (::ioctl(output_.get(), TIOCSWINSZ, &size) != 0) {
        fail_with_errno("resize the terminal");
    }
}

termios ProgramProcess::terminal_settings() const {
    termios settings{};
    if (::tcgetattr(output_.get(), &settings) != 0) {
        fail_with_errno("read the terminal's settings");
    }
    return settings;
}

Ended ProgramProcess::wait() {
    while (read_more()) {
    }
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, pending_,
            terminal_ ? std::string() : read_file(directory_ / "err")};
}

Ended run_program_process(const std::vector<std::string>& arguments, const std::string& config,
                          const std::string& input) {
    return ProgramProcess(arguments, config, ProgramProcess::Console::files, input).wait();
}

} // namespace vgpu::test
