#include "tests/simulator/inventory.hpp"

#include <fmt/format.h>

#include <utility>

namespace vgpu::simulator {

Done Inventory::unbind(const std::shared_ptr<PciFunction>& function) {
    if (function->driver.empty()) {
        return refused(fmt::format("{} is bound to no driver", function->name));
    }
    if (const auto gpu = std::dynamic_pointer_cast<Gpu>(function)) {
        disable_vfs(gpu);
    }
    if (const auto vf = std::dynamic_pointer_cast<Vf>(function)) {
        while (!vf->mdevs.empty()) {
            remove_mdev(vf->mdevs.begin()->second);
        }
        if (const auto gpu = vf->gpu.lock(); gpu && vf->vgpu.type != nullptr) {
            gpu->capacity->give_back(*vf->vgpu.type, vf->vgpu.placement);
            gpu->catalogue.reset();
            vf->vgpu = {};
        }
        vf->broken = vf->broken || function->driver == "nvidia";
    }
    function->driver.clear();
    vfios_.erase(std::exchange(function->vfio, -1));
    return ok();
}

Done Inventory::set_framework(const std::shared_ptr<Gpu>& gpu, Framework framework) {
    if (gpu->capacity->in_use()) {
        return refused(fmt::format("{} has vGPUs", gpu->name));
    }
    gpu->framework = framework;
    for (const auto& vf : gpu->vfs) {
        vfios_.erase(std::exchange(vf->vfio, -1));
        attach(vf, is_vfio(*vf));
    }
    return ok();
}

Done Inventory::bind(const std::shared_ptr<PciFunction>& function, const std::string& driver) {
    if (!function->driver.empty()) {
        return refused(fmt::format("{} is bound to {}", function->name, function->driver));
    }
    function->driver = driver;
    attach(function, is_vfio(*function));
    return ok();
}

void Inventory::reboot(bool keep_vfs) {
    std::map<std::string, std::uint32_t> counts;
    for (const auto& [name, gpu] : gpus_) {
        counts[name] = static_cast<std::uint32_t>(gpu->vfs.size());
        gpu->leaks.clear();
        disable_vfs(gpu);
    }
    for (const auto& [name, function] : functions_) {
        detach(function);
    }
    next_group_ = first_group;
    next_vfio_ = 0;
    for (const auto& [name, function] : functions_) {
        function->generation = ++generation_;
        function->created = std::chrono::system_clock::now();
        if (!dynamic_cast<Gpu*>(function.get())) {
            attach(function, is_vfio(*function));
        }
    }
    for (const auto& [name, gpu] : gpus_) {
        attach(gpu, is_vfio(*gpu));
        if (keep_vfs) {
            static_cast<void>(enable_vfs(gpu, counts[name]));
        }
    }
}

std::shared_ptr<Mdev> Inventory::create_mdev(const std::shared_ptr<PciFunction>& parent,
                                             const VgpuType& type, const std::string& uuid,
                                             bool force) {
    const auto gpu = gpu_of(parent);
    auto placement = gpu->capacity->take(type);
    if (!placement && !force) {
        return nullptr;
    }
    auto mdev = std::make_shared<Mdev>();
    mdev->name = uuid;
    mdev->path = parent->path + "/" + uuid;
    mdev->generation = ++generation_;
    mdev->parent = parent;
    mdev->vgpu.type = &type;
    mdev->vgpu.placement = placement ? *placement : gpu->capacity->force(type);
    parent->mdevs[uuid] = mdev;
    mdevs_[uuid] = mdev;
    attach(mdev, true);
    gpu->catalogue.reset();
    return mdev;
}

void Inventory::remove_mdev(const std::shared_ptr<Mdev>& mdev, bool leak) {
    const auto parent = mdev->parent.lock();
    const auto gpu = gpu_of(parent);
    const auto vgpu = std::exchange(mdev->vgpu, {});
    if (leak) {
        gpu->leaks.push_back(vgpu.type);
    } else {
        gpu->capacity->give_back(*vgpu.type, vgpu.placement);
    }
    gpu->catalogue.reset();
    mdev->gone = true;
    detach(mdev);
    parent->mdevs.erase(mdev->name);
    mdevs_.erase(mdev->name);
}

} // namespace vgpu::simulator
