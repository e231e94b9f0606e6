#include "tests/simulator/host.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <random>

namespace vgpu::simulator {

std::string random_uuid() {
    std::random_device random;
    std::array<unsigned, 4> words{};
    for (auto& word : words) {
        word = random();
    }
    return fmt::format("{:08x}-{:04x}-4{:03x}-{:04x}-{:04x}{:08x}", words[0], words[1] >> 16U,
                       words[1] & 0xfffU, 0x8000U | (words[2] >> 16U & 0x3fffU), words[2] & 0xffffU,
                       words[3]);
}

namespace {

std::shared_ptr<Process> init_process() {
    auto init = std::make_shared<Process>();
    init->pid = 1;
    init->parent = 0;
    init->start_time = 1;
    init->cmdline = std::string("/sbin/init\0", 11);
    init->tasks.emplace(1, Task{'S', "systemd"});
    return init;
}

} // namespace

Host::Host(std::string mounted_at) : mountpoint(std::move(mounted_at)), boot_id(random_uuid()) {
    processes.emplace(1, init_process());
}

void Host::count(std::string_view operation, const Node& node) {
    count(fmt::format("{}.{}", operation, node.called()), node.device.get());
}

void Host::count(std::string_view name, Device* device) {
    counters.add(name);
    if (device != nullptr) {
        device->counters.add(name);
    }
}

void Host::settle() {
    if (!next_self_removal || Clock::now() < *next_self_removal) {
        return;
    }
    const auto now = Clock::now();
    next_self_removal.reset();
    std::vector<std::shared_ptr<Mdev>> due;
    for (const auto& [uuid, mdev] : inventory.mdevs()) {
        if (mdev->self_removal && *mdev->self_removal <= now) {
            due.push_back(mdev);
        } else if (mdev->self_removal) {
            next_self_removal =
                std::min(next_self_removal.value_or(*mdev->self_removal), *mdev->self_removal);
        }
    }
    for (const auto& mdev : due) {
        inventory.remove_mdev(mdev);
        counters.add("self_removals");
    }
}

void Host::opened(Device& device) {
    device.holders.opened_ever = true;
    if (auto* mdev = dynamic_cast<Mdev*>(&device)) {
        mdev->self_removal.reset();
    }
}

void Host::closed(const std::shared_ptr<Device>& device) {
    if (device->holders.held()) {
        return;
    }
    device->holders.closed_at = Clock::now();
    const auto mdev = std::dynamic_pointer_cast<Mdev>(device);
    if (mdev && !mdev->gone && settings.self_removal_ms > 0) {
        const auto due = Clock::now() + std::chrono::milliseconds(settings.self_removal_ms);
        mdev->self_removal = due;
        next_self_removal = std::min(next_self_removal.value_or(due), due);
    }
    waiters.wake_all();
}

std::string Host::node_path(const Device& device, VfioNode node) const {
    return node == VfioNode::group
               ? fmt::format("{}/dev/vfio/{}", mountpoint, device.group)
               : fmt::format("{}/dev/vfio/devices/vfio{}", mountpoint, device.vfio);
}

std::pair<std::shared_ptr<Device>, VfioNode> Host::node_at(std::string_view path) const {
    constexpr std::string_view deleted = " (deleted)";
    if (path.ends_with(deleted)) {
        path.remove_suffix(deleted.size());
    }
    if (path.starts_with(mountpoint)) {
        path.remove_prefix(mountpoint.size());
    }
    constexpr std::string_view groups = "/dev/vfio/";
    constexpr std::string_view cdevs = "/dev/vfio/devices/vfio";
    const auto node = path.starts_with(cdevs) ? VfioNode::cdev : VfioNode::group;
    const auto prefix = node == VfioNode::cdev ? cdevs : groups;
    int number = 0;
    if (!path.starts_with(prefix)) {
        return {nullptr, node};
    }
    path.remove_prefix(prefix.size());
    const auto [end, error] = std::from_chars(path.data(), path.data() + path.size(), number);
    if (error != std::errc{} || end != path.data() + path.size()) {
        return {nullptr, node};
    }
    const auto& devices = node == VfioNode::cdev ? inventory.vfios() : inventory.groups();
    const auto found = devices.find(number);
    return {found == devices.end() ? nullptr : found->second, node};
}

void Host::reboot(bool keep_vfs) {
    processes.clear();
    processes.emplace(1, init_process());
    inventory.reboot(keep_vfs);
    for (const auto& [name, function] : inventory.functions()) {
        function->holders = {};
    }
    boot_id = random_uuid();
    booted = std::chrono::system_clock::now();
    waiters.wake_all();
}

int stall(Host& host, Call& call, Device& device) {
    if (device.faults.delay_ms > 0) {
        const auto until = Clock::now() + std::chrono::milliseconds(device.faults.delay_ms);
        auto outcome = Waiters::Outcome::woken;
        while (outcome == Waiters::Outcome::woken && !device.gone && !host.stopping) {
            outcome = host.waiters.wait(call, until);
        }
        if (outcome == Waiters::Outcome::killed) {
            return EINTR;
        }
    }
    while (device.faults.block != Block::none && !device.gone && !host.stopping) {
        const bool killable = device.faults.block == Block::killable;
        if (host.waiters.wait(call, std::nullopt, killable) == Waiters::Outcome::killed) {
            return EINTR;
        }
    }
    return device.gone || host.stopping ? ENODEV : 0;
}

} // namespace vgpu::simulator
