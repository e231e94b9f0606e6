#include "tests/simulator/device.hpp"

namespace vgpu::simulator {

std::shared_ptr<Gpu> gpu_of(const std::shared_ptr<Device>& device) {
    if (auto gpu = std::dynamic_pointer_cast<Gpu>(device)) {
        return gpu;
    }
    if (const auto vf = std::dynamic_pointer_cast<Vf>(device)) {
        return vf->gpu.lock();
    }
    if (const auto mdev = std::dynamic_pointer_cast<Mdev>(device)) {
        return gpu_of(mdev->parent.lock());
    }
    return nullptr;
}

Vgpu* vgpu_of(Device& device) {
    if (auto* vf = dynamic_cast<Vf*>(&device)) {
        return &vf->vgpu;
    }
    auto* mdev = dynamic_cast<Mdev*>(&device);
    return mdev == nullptr ? nullptr : &mdev->vgpu;
}

} // namespace vgpu::simulator
