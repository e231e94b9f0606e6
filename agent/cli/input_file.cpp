#include "agent/cli/input_file.hpp"

#include "agent/core/file_io.hpp"

#include <unistd.h>

namespace vgpu::cli {

Result<std::string> read_input(const std::string& file, std::size_t limit) {
    return file == "-" ? read_descriptor(STDIN_FILENO, "standard input", limit)
                       : read_small_file(file, limit);
}

} // namespace vgpu::cli
