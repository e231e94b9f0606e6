#pragma once

#include <string>
#include <vector>

namespace vgpu::test {

/// Runs a hook under ptrace and kills it with SIGKILL at the entry of its N-th system call (from
/// 1), counted over the hook and the process it makes its driver accesses in. True if it was
/// killed, false if it ended before; `call` is then the number of that system call. Returns when
/// both processes are gone.
bool kill_hook_at(int n, const std::string& config, const std::vector<std::string>& arguments,
                  const std::string& xml, long& call);

} // namespace vgpu::test
