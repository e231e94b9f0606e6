#include "agent/cli/command.hpp"
#include "agent/cli/output.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>

int main(int count, char** arguments) {
    // What gets the number of a closed stdout would be written to as if it were it.
    for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (::fcntl(standard, F_GETFD) < 0 && ::open("/dev/null", O_RDWR) < 0) {
            return vgpu::cli::exit_failed;
        }
    }
    // A closed pipe or a full disk is an error of print(), said as one.
    ::signal(SIGPIPE, SIG_IGN);
    ::signal(SIGXFSZ, SIG_IGN);
    int code = vgpu::cli::exit_failed;
    try {
        code = vgpu::cli::run_program(count, arguments);
    } catch (const std::exception& exception) {
        vgpu::cli::complain(exception.what());
    }
    // Not std::exit: a thread that waits for a hung libvirt daemon may still be running.
    if (std::fflush(stdout) != 0 && code == vgpu::cli::exit_done) {
        code = vgpu::cli::exit_failed; // --help and --version; print() has said its own
    }
    std::_Exit(code);
}
