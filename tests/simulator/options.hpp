#pragma once

#include <tl/expected.hpp>

#include <string>

namespace vgpu::simulator {

struct Options {
    std::string mountpoint;
    std::string configuration; ///< lines of commands: those of the options, then those of the file
    int ready_fd = 1;
    bool die_with_parent = false;
    bool replace_stale = false;
    bool cache = false; ///< the kernel may remember names
};

/// The options of the command line, or the exit status when there is nothing to serve (help, wrong
/// usage).
tl::expected<Options, int> parse_options(int count, char** arguments);

} // namespace vgpu::simulator
