#include "tests/simulator/mdev.hpp"

#include "tests/simulator/parse.hpp"

#include <cerrno>

namespace vgpu::simulator {

int create_mdev(Host& host, Call& call, const std::shared_ptr<PciFunction>& parent,
                std::uint32_t type, std::string_view text) {
    const auto uuid = kernel_uuid(text);
    if (!uuid) {
        return uuid.error();
    }
    if (const int error = stall(host, call, *parent)) {
        return error;
    }
    if (!Inventory::is_mdev_parent(*parent)) {
        return ENODEV;
    }
    if (host.inventory.mdevs().contains(*uuid)) {
        return EEXIST;
    }
    const bool is_vf = dynamic_cast<Vf*>(parent.get()) != nullptr;
    const auto* wanted = gpu_of(parent)->board->find(type);
    if (wanted == nullptr || (is_vf && !parent->mdevs.empty()) ||
        !host.inventory.create_mdev(parent, *wanted, *uuid)) {
        return EINVAL;
    }
    host.count("mdevs_created", parent.get());
    return 0;
}

int remove_mdev(Host& host, Call& call, const std::shared_ptr<Mdev>& mdev, std::string_view text) {
    const auto number = kernel_number(text);
    if (!number) {
        return EINVAL;
    }
    if (*number == 0) {
        return 0;
    }
    if (const int error = stall(host, call, *mdev)) {
        return error;
    }
    if (mdev->holders.held()) {
        host.count("writes_while_open", mdev.get());
    }
    while (mdev->holders.held() && !mdev->gone && !host.stopping) {
        if (host.waiters.wait(call, std::nullopt) == Waiters::Outcome::killed) {
            return EINTR;
        }
    }
    if (mdev->gone || host.stopping) {
        return ENODEV;
    }
    const bool leak = mdev->self_removal.has_value();
    if (leak) {
        host.count("leaks", mdev->parent.lock().get());
    }
    host.count("mdevs_removed", mdev->parent.lock().get());
    host.inventory.remove_mdev(mdev, leak);
    return 0;
}

} // namespace vgpu::simulator
