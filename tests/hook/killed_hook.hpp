#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace vgpu::test {

/// Runs a hook under ptrace and kills it with SIGKILL at the entry of its N-th system call (from
/// 1), counted over the hook and the process it makes its driver accesses in. True if it was
/// killed, false if it ended before; `call` is then the number of that system call. Returns when
/// both processes are gone.
bool kill_hook_at(std::size_t n, const std::string& config,
                  const std::vector<std::string>& arguments, const std::string& xml, long& call);

struct TracedCall {
    bool by_hook = false; ///< false: by the process that it makes its driver accesses in
    long number = 0;      ///< of the system call
};

/// All system calls of a hook that nobody kills, in their order.
std::vector<TracedCall> trace_hook(const std::string& config,
                                   const std::vector<std::string>& arguments,
                                   const std::string& xml);

} // namespace vgpu::test
