#include "agent/cli/command.hpp"
#include "agent/cli/output.hpp"

#include <signal.h>

#include <cstdio>
#include <cstdlib>
#include <exception>

int main(int count, char** arguments) {
    // A closed pipe is an error of print(), said as one.
    ::signal(SIGPIPE, SIG_IGN);
    int code = vgpu::cli::exit_failed;
    try {
        code = vgpu::cli::run_program(count, arguments);
    } catch (const std::exception& exception) {
        vgpu::cli::complain(exception.what());
    }
    // Not std::exit: a thread that waits for a hung libvirt daemon may still be running.
    std::fflush(stdout);
    std::_Exit(code);
}
