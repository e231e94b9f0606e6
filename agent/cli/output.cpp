#include "agent/cli/output.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace vgpu::cli {

namespace {

void to_stderr(std::string_view kind, std::string_view text) {
    // One write per line: other programs may share the terminal.
    const std::string line = fmt::format("virt-vgpu: {}{}\n", kind, printable(text, text.size()));
    std::fputs(line.c_str(), stderr);
}

} // namespace

bool wants_colour() {
    const char* refused = std::getenv("NO_COLOR");
    const char* terminal = std::getenv("TERM");
    return ::isatty(STDOUT_FILENO) == 1 && (refused == nullptr || *refused == '\0') &&
           (terminal == nullptr || std::string_view(terminal) != "dumb");
}

int print(std::string_view text) {
    const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
    if (written && std::fflush(stdout) == 0) {
        return exit_done;
    }
    complain("the result could not be written: " + errno_text(errno));
    return exit_failed;
}

void complain(std::string_view text) {
    to_stderr("", text);
}

void warn(std::string_view text) {
    to_stderr("warning: ", text);
}

int report(const Error& error) {
    const bool needs_root = error.code() == ErrorCode::denied && ::geteuid() != 0;
    complain(needs_root ? error.hint("run it as root").text() : error.text());
    return exit_failed;
}

} // namespace vgpu::cli
