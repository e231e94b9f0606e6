#pragma once

#include "agent/lifecycle/lifecycle.hpp"
#include "tests/support/fake_hypervisor.hpp"
#include "tests/unit/cli/simulated_host.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

namespace vgpu::test {

inline constexpr const char* vm1 = "f0f0f0f0-0000-4000-8000-000000000001";
inline constexpr const char* vm2 = "f0f0f0f0-0000-4000-8000-000000000002";
inline constexpr const char* vf4 = "0000:41:00.4";
inline constexpr const char* vf5 = "0000:41:00.5";
inline constexpr const char* profile_4q = "NVIDIA L40S-4Q";

/// A simulated host, a libvirt in memory that calls what the hook calls, and the lifecycle.
class Living : public testing::Test {
protected:
    Living();

    [[nodiscard]] static Deadline soon() { return Deadline::in(std::chrono::seconds(60)); }
    [[nodiscard]] static xml::InstanceRequest request(const std::string& name, bool start = true);
    [[nodiscard]] std::optional<Claim> claim(const std::string& device);
    Claim leave_claim(const std::string& device, ClaimState state, const char* owner = vm1);
    /// A QEMU of `domain`, by its command line, that has `device` open.
    void run_qemu(int pid, const std::string& domain, const std::string& device);

    SimulatedHost host{"gpu 0000:41:00.0 model=L40S vfs=2\n"};
    FakeHypervisor hypervisor;
    InstanceLocks locks;
    bool hook_installed = true;
    Lifecycle lifecycle;
};

} // namespace vgpu::test
