#include "agent/cli/command.hpp"
namespace vgpu::cli {
void add_doctor(CLI::App&, Program&) {}
} // namespace vgpu::cli
