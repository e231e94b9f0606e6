#pragma once

#include "agent/core/unique_fd.hpp"
#include "tests/support/temp_dir.hpp"

#include <sys/types.h>
#include <termios.h>

#include <string>
#include <vector>

namespace vgpu::test {

/// What a program has left behind.
struct Ended {
    int code = -1; ///< -1: killed by a signal
    std::string out;
    std::string err;
};

/// The command line as a process, with `config` as its configuration. Everything throws
/// std::runtime_error with a reason when it cannot be done; what is waited for may take a minute.
class ProgramProcess {
public:
    enum class Console {
        files,    ///< nothing on stdin, outputs into a pipe and a file
        terminal, ///< all three are one terminal of 80 columns and 24 rows
    };
    ProgramProcess(const std::vector<std::string>& arguments, const std::string& config,
                   Console console = Console::files, const std::string& input = {});
    /// Kills it if it is still there.
    ~ProgramProcess();
    ProgramProcess(const ProgramProcess&) = delete;
    ProgramProcess& operator=(const ProgramProcess&) = delete;

    /// Reads standard output, or the terminal, until it has this text; returns all there was
    /// since the last call.
    std::string read_until(const std::string& text);
    void send_signal(int signal) const;
    /// As if typed at the terminal.
    void type(const std::string& keys) const;
    void resize(unsigned short rows, unsigned short columns) const;
    [[nodiscard]] termios terminal_settings() const;
    /// As they were before the program began.
    [[nodiscard]] const termios& initial_settings() const { return initial_settings_; }
    /// Reads the rest and waits for its end. `out` is what read_until() has not returned.
    Ended wait();

private:
    [[noreturn]] void run_child(const std::vector<std::string>& arguments,
                                const std::string& config) const;
    bool read_more();

    TempDir directory_;
    UniqueFd output_; ///< the terminal's other side, or the end of the pipe
    std::string pending_;
    pid_t pid_ = -1;
    bool terminal_;
    termios initial_settings_{};
};

/// Runs it to its end.
Ended run_program_process(const std::vector<std::string>& arguments,
                          const std::string& config = "/no/such/config",
                          const std::string& input = {});

} // namespace vgpu::test
