#pragma once

#include "agent/reconcile/reconciler.hpp"
#include "tests/support/fake_hypervisor.hpp"
#include "tests/unit/cli/simulated_host.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace vgpu::test {

inline constexpr const char* vm1 = "f0f0f0f0-0000-4000-8000-000000000001";
inline constexpr const char* vm2 = "f0f0f0f0-0000-4000-8000-000000000002";
inline constexpr const char* vf4 = "0000:41:00.4";
inline constexpr const char* vf5 = "0000:41:00.5";
inline constexpr const char* profile_4q = "NVIDIA L40S-4Q";

/// A simulated host with two VFs, a libvirt in memory, and the reconciler between.
class Reconciling : public testing::Test {
protected:
    /// One pass; the test fails if it cannot be made.
    ReconcileReport pass(bool dry_run = false);
    /// Its actions, as "STAGE: text" or "STAGE! error".
    std::vector<std::string> actions(bool dry_run = false);

    /// A claim of vm1 on `device`, whose type is set, as an earlier run has left it.
    Claim leave_claim(const std::string& device, ClaimState state, const char* owner = vm1);
    [[nodiscard]] std::optional<Claim> claim(const std::string& device);
    /// A QEMU of `domain`, by its command line, that has `device` open.
    void run_qemu(int pid, const std::string& domain, const std::string& device);

    SimulatedHost host{"gpu 0000:41:00.0 model=L40S vfs=2\n"};
    FakeHypervisor hypervisor;
    bool reachable = true;
    bool rebind = true;
    std::string busy; ///< UUID of a domain whose instance lock somebody holds
};

} // namespace vgpu::test
