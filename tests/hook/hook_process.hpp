#pragma once

#include "agent/core/claim.hpp"
#include "agent/core/unique_fd.hpp"
#include "tests/support/simulator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace vgpu::test {

/// How a hook ended.
struct HookEnd {
    int status = -1;     ///< exit status; 128 + signal if a signal ended it
    std::string message; ///< its stderr
};

/// The hook that is tested: the one of this build, or $VGPU_TEST_HOOK.
std::string hook_program();

/// Becomes the hook, with these files as its stdin and stderr.
[[noreturn]] void exec_hook(int input, int message, const std::string& config,
                            const std::vector<std::string>& arguments);

/// A started hook. Its stdin has been given and closed.
class HookProcess {
public:
    HookProcess(const std::string& config, const std::vector<std::string>& arguments,
                const std::string& xml);
    HookProcess(const HookProcess&) = delete;
    HookProcess& operator=(const HookProcess&) = delete;
    ~HookProcess();

    [[nodiscard]] pid_t pid() const { return pid_; }
    /// Waits for its end; fails the test after 60 s.
    HookEnd wait();

private:
    pid_t pid_ = -1;
    int message_ = -1;
};

struct TestDevice {
    std::string name; ///< of the request; empty: a foreign device
    std::string profile;
    std::string device; ///< PCI address or mdev UUID
    std::string gpu;
    std::string params;
    bool managed = false;
};

/// The XML of a domain as libvirt gives it to a hook.
std::string domain_xml(const std::string& name, const std::string& uuid,
                       const std::vector<TestDevice>& devices);

/// This process plays the QEMU of a domain for as long as the object lives: it has libvirt's pid
/// file locked, and the simulated /proc knows its number.
struct PlayedVmm {
    UniqueFd pid_file;
    Vmm recorded; ///< what a claim should say of it
};

/// A simulated host with L40S GPUs, and hooks run on it.
class HookTest : public ::testing::Test {
public:
    static constexpr const char* uuid_a = "aaaaaaaa-0000-4000-8000-000000000001";
    static constexpr const char* uuid_b = "bbbbbbbb-0000-4000-8000-000000000002";
    static constexpr const char* vf0 = "0000:41:00.4";
    static constexpr const char* vf1 = "0000:41:00.5";
    static constexpr const char* other_gpu_vf = "0000:42:00.4";
    static constexpr std::uint32_t type_4q = 1150;
    static constexpr const char* profile = "NVIDIA L40S-4Q";

    explicit HookTest(const SimulatorOptions& options = {}) : sim(options) {
        config = write_config();
    }

    /// Times that no loaded machine exceeds, unless `more` has a [hook] of its own.
    [[nodiscard]] std::string write_config(const std::string& more = "",
                                           const std::string& proc = "") const {
        const std::string times = "[hook]\ndeadline = \"120s\"\nrelease_budget = \"29s\"\n";
        return sim.write_config((more.find("[hook]") == std::string::npos ? times : "") + more,
                                proc);
    }

    [[nodiscard]] PlayedVmm play_vmm(const std::string& name) const;
    /// The configuration with another directory for one of its roots.
    [[nodiscard]] std::string config_with_root(const std::string& key,
                                               const std::string& path) const;
    /// A reboot that finds the VFs enabled again.
    void reboot() const { sim.control("reboot keep-sriov"); }

    [[nodiscard]] HookEnd hook(const std::string& name, const std::string& operation,
                               const std::string& sub, const std::string& xml,
                               const std::string& extra = "-") const;
    [[nodiscard]] HookEnd prepare(const std::string& name, const std::string& xml) const {
        return hook(name, "prepare", "begin", xml);
    }
    [[nodiscard]] HookEnd release(const std::string& name, const std::string& xml) const {
        return hook(name, "release", "end", xml);
    }
    /// "vm1" on vf0 with a 4Q.
    [[nodiscard]] static std::string xml_a(const std::string& device = vf0,
                                           const std::string& wanted = profile) {
        return domain_xml("vm1", uuid_a, {{"vgpu0", wanted, device, "", "", false}});
    }
    [[nodiscard]] static std::string xml_b(const std::string& device = vf0,
                                           const std::string& wanted = profile) {
        return domain_xml("vm2", uuid_b, {{"vgpu0", wanted, device, "", "", false}});
    }

    /// The claim of a device (address or UUID); nullopt if there is none. Fails the test if it
    /// cannot be read.
    [[nodiscard]] std::optional<Claim> claim(const std::string& device) const;
    /// The same; fails the test if there is none.
    [[nodiscard]] Claim claimed(const std::string& device) const {
        const auto found = claim(device);
        EXPECT_TRUE(found) << device << " has no claim";
        return found.value_or(Claim());
    }
    /// The files in the claims directory.
    [[nodiscard]] std::vector<std::string> claim_files() const;
    [[nodiscard]] std::string claim_path(const std::string& device) const;
    /// Changes a claim on disk behind everybody's back.
    template <typename Change>
    void edit_claim(const std::string& device, Change change) const {
        auto found = claim(device);
        ASSERT_TRUE(found);
        change(*found);
        write_file(claim_path(device), to_json(*found));
    }
    static void write_file(const std::string& path, const std::string& content);
    /// Every VF is untyped and unclaimed, and nothing was written to a device in use.
    void expect_all_free() const;

    Simulator sim;
    std::string config;
};

} // namespace vgpu::test
