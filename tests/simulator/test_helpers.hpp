#pragma once

#include "tests/support/simulator.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <string>
#include <system_error>
#include <thread>

namespace vgpu::test {

/// errno of reading the file, 0 when it could be read.
inline int read_error(const std::string& path) {
    try {
        static_cast<void>(read_file(path));
        return 0;
    } catch (const std::system_error& error) {
        return error.code().value();
    }
}

inline std::string attribute(const Simulator& sim, std::string_view device, std::string_view file) {
    return sim.device(device) + "/" + std::string(file);
}

inline std::string type_file(const Simulator& sim, std::string_view vf) {
    return attribute(sim, vf, "nvidia/current_vgpu_type");
}

inline std::string creatable(const Simulator& sim, std::string_view vf) {
    return read_file(attribute(sim, vf, "nvidia/creatable_vgpu_types"));
}

inline int write_type(const Simulator& sim, std::string_view vf, std::string_view id) {
    return write_attribute(type_file(sim, vf), id);
}

/// Why the simulator refuses a command; "" when it does not.
inline std::string reason(const Simulator& sim, std::string_view command) {
    try {
        sim.control(command);
        return "";
    } catch (const std::runtime_error& error) {
        return error.what();
    }
}

/// A descriptor, or minus the errno of the open.
inline int try_open(const std::string& path) {
    const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
    return file < 0 ? -errno : file;
}

/// Looks again until `condition` holds; false if it does not within half a minute.
template <typename Condition>
bool eventually(Condition condition) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!condition()) {
        if (std::chrono::steady_clock::now() > limit) {
            return false;
        }
        std::this_thread::yield();
    }
    return true;
}

/// A process that writes to a file and exits with the errno of that.
class Writer {
public:
    Writer(const std::string& path, std::string_view text) : pid_(fork()) {
        if (pid_ == 0) {
            // Nothing that the test holds open is to stay open here.
            close_range(3, ~0U, 0);
            _exit(write_attribute(path, text));
        }
    }
    ~Writer() {
        if (pid_ > 0) {
            kill(pid_, SIGKILL);
            static_cast<void>(wait());
        }
    }
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;

    void signal(int number) const { kill(pid_, number); }
    [[nodiscard]] bool running() const {
        siginfo_t info{};
        waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT);
        return info.si_pid == 0;
    }
    /// Exit status, or minus the signal that ended it.
    int wait() {
        int status = 0;
        waitpid(pid_, &status, 0);
        pid_ = -1;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    }

private:
    pid_t pid_;
};

} // namespace vgpu::test
