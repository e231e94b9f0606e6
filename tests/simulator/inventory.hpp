#pragma once

#include "tests/simulator/device.hpp"

#include <tl/expected.hpp>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

namespace vgpu::simulator {

/// Nothing, or why not, for people.
using Done = tl::expected<void, std::string>;

inline Done ok() {
    return {};
}

inline tl::unexpected<std::string> refused(std::string reason) {
    return tl::unexpected<std::string>(std::move(reason));
}

/// What a `gpu` line asks for.
struct GpuRequest {
    Address address;
    std::string model = "L40S";
    std::shared_ptr<const Board> board;
    Framework framework = Framework::vendor_vfio;
    bool catalogue_has_header = true;
    std::uint32_t framebuffer_mib = 0;
    std::uint32_t max_vgpus = 0;
    std::uint32_t first_vf = 4;
    std::uint32_t vfs = 8;
    std::uint32_t total_vfs = 8;
    int numa_node = 0;
    int vf_numa_node = 0;
    std::string driver = "nvidia";
    bool mixed = false;
    bool mig = false;
};

/// The PCI functions and mdevs of the host with their numbers, and what adds and removes them.
class Inventory {
public:
    static constexpr std::uint32_t max_vfs = 4096; ///< of the whole host

    [[nodiscard]] const auto& functions() const { return functions_; }
    [[nodiscard]] const auto& gpus() const { return gpus_; }
    [[nodiscard]] const auto& groups() const { return groups_; }
    [[nodiscard]] const auto& vfios() const { return vfios_; }
    [[nodiscard]] const auto& mdevs() const { return mdevs_; }
    /// Names of the directories below "devices/..." that hold functions.
    [[nodiscard]] const std::set<std::string>* children(const std::string& path) const;
    /// A function by address or an mdev by UUID.
    [[nodiscard]] std::shared_ptr<Device> find(std::string_view name) const;

    Done add_gpu(const GpuRequest& request);
    Done remove_gpu(const std::string& address);
    /// A function that is no GPU: a bridge, a network card.
    Done add_other(const Address& address, const PciIds& ids, const std::string& driver);

    /// Makes VFs until there are `count`; those that exist stay.
    Done enable_vfs(const std::shared_ptr<Gpu>& gpu, std::uint32_t count);
    /// Types, mdevs, mixed mode and GPU instances go with the VFs; what the driver leaked stays
    /// leaked.
    void disable_vfs(const std::shared_ptr<Gpu>& gpu);
    /// What the driver offers from now on, as when it has registered with the mdev core at last.
    Done set_framework(const std::shared_ptr<Gpu>& gpu, Framework framework);
    Done bind(const std::shared_ptr<PciFunction>& function, const std::string& driver);
    Done unbind(const std::shared_ptr<PciFunction>& function);
    void reboot(bool keep_vfs);

    /// `type` must be one the parent's card can make now; else nullptr.
    std::shared_ptr<Mdev> create_mdev(const std::shared_ptr<PciFunction>& parent,
                                      const VgpuType& type, const std::string& uuid,
                                      bool force = false);
    /// With `leak` the driver keeps the vGPU booked.
    void remove_mdev(const std::shared_ptr<Mdev>& mdev, bool leak = false);

    /// True for a function of which the bound driver makes a VFIO device.
    [[nodiscard]] static bool is_vfio(const PciFunction& function);
    /// True for a function that is an mdev parent now.
    [[nodiscard]] static bool is_mdev_parent(const PciFunction& function);

private:
    void place(const std::shared_ptr<PciFunction>& function, const Address& upstream);
    void forget(const std::shared_ptr<PciFunction>& function);
    void attach(const std::shared_ptr<Device>& device, bool as_vfio);
    void detach(const std::shared_ptr<Device>& device);
    void add_bridge(const Address& below);
    void drop_vgpus(const std::shared_ptr<Gpu>& gpu);
    [[nodiscard]] std::size_t vf_count() const;

    std::map<std::string, std::shared_ptr<PciFunction>, std::less<>> functions_;
    std::map<std::string, std::shared_ptr<Gpu>, std::less<>> gpus_;
    std::map<int, std::shared_ptr<Device>> groups_;
    std::map<int, std::shared_ptr<Device>> vfios_; ///< only devices bound to a VFIO driver
    std::map<std::string, std::shared_ptr<Mdev>, std::less<>> mdevs_;
    std::map<std::string, std::set<std::string>, std::less<>> children_;
    std::uint64_t generation_ = 0;
    int next_group_ = first_group;
    int next_vfio_ = 0;
    static constexpr int first_group = 15;
};

} // namespace vgpu::simulator
