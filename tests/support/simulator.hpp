#pragma once

#include "tests/support/temp_dir.hpp"

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vgpu::test {

struct SimulatorOptions {
    unsigned gpus = 2;
    unsigned vfs = 8;                   ///< of each GPU
    std::vector<std::string> arguments; ///< more options of vgpu-simulator
    std::string config; ///< lines of its configuration; replaces gpus and vfs when not empty
};

/// A running vgpu-simulator on a fresh mount, beside plain directories for everything else that a
/// virt-vgpu configuration names. The program ends with this object, and with this process if that
/// is killed; mounts that killed test runs left are cleaned when the next one starts. Everything
/// throws std::runtime_error with a reason when it cannot be done.
class Simulator {
public:
    explicit Simulator(const SimulatorOptions& options = {});
    ~Simulator();
    Simulator(const Simulator&) = delete;
    Simulator& operator=(const Simulator&) = delete;

    [[nodiscard]] std::string sysfs() const { return mount() + "/sys"; }
    [[nodiscard]] std::string proc() const { return mount() + "/proc"; }
    [[nodiscard]] std::string dev() const { return mount() + "/dev"; }
    [[nodiscard]] std::string libvirt_run() const { return directory_ / "libvirt"; }
    [[nodiscard]] std::string state() const { return directory_ / "state"; }
    [[nodiscard]] std::string runtime() const { return directory_ / "runtime"; }
    [[nodiscard]] std::string mount() const { return directory_ / "host"; }
    /// The directory that holds all of these.
    [[nodiscard]] std::string directory() const { return directory_.path().string(); }

    /// Carries out one command of the control file; throws with the simulator's own reason if it is
    /// refused.
    void control(std::string_view command) const;
    /// The text of the control file.
    [[nodiscard]] std::string report() const;
    /// A counter of the whole host ("writes_while_open") or of a device ("0000:41:00.4.resets"). 0
    /// when nothing was counted under that name.
    [[nodiscard]] std::uint64_t counter(std::string_view name) const;

    /// The directory of a PCI function or mdev in sysfs, by the link in bus/.
    [[nodiscard]] std::string device(std::string_view name) const;
    /// The nodes of a PCI function or mdev in dev/.
    [[nodiscard]] std::string group_node(std::string_view name) const;
    [[nodiscard]] std::string cdev_node(std::string_view name) const;
    /// What current_vgpu_type of a VF reads.
    [[nodiscard]] std::uint32_t type(std::string_view vf) const;

    /// Writes a virt-vgpu configuration that has all its roots here and returns its path. `more` is
    /// added at the end (tables other than [paths]); `proc` replaces the simulated /proc, e.g. by
    /// "/proc".
    [[nodiscard]] std::string write_config(std::string_view more = {},
                                           std::string_view proc = {}) const;

    [[nodiscard]] pid_t pid() const { return pid_; }
    /// Ends the program with SIGTERM and returns its exit status; -1 if it was killed.
    int stop();

private:
    void start(const std::vector<std::string>& arguments);

    TempDir directory_;
    pid_t pid_ = -1;
};

} // namespace vgpu::test
