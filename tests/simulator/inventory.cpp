#include "tests/simulator/inventory.hpp"

#include <fmt/format.h>

#include <utility>

namespace vgpu::simulator {

namespace {

/// Where a card hangs: below a bridge of the bus before its own, as behind a root port.
Address bridge_above(const Address& address) {
    return {address.domain, static_cast<std::uint8_t>(address.bus - 1), 1U << 3U};
}

std::string directory_of(const Address& upstream) {
    if (upstream.bus == 0) {
        return fmt::format("devices/pci{:04x}:00", upstream.domain);
    }
    const auto bridge = bridge_above(upstream);
    return fmt::format("devices/pci{:04x}:{:02x}/{}", bridge.domain, bridge.bus, bridge.text());
}

} // namespace

const std::set<std::string>* Inventory::children(const std::string& path) const {
    const auto found = children_.find(path);
    return found == children_.end() ? nullptr : &found->second;
}

std::shared_ptr<Device> Inventory::find(std::string_view name) const {
    if (const auto function = functions_.find(name); function != functions_.end()) {
        return function->second;
    }
    const auto mdev = mdevs_.find(name);
    return mdev == mdevs_.end() ? nullptr : mdev->second;
}

bool Inventory::is_vfio(const PciFunction& function) {
    if (function.driver == "vfio-pci") {
        return true;
    }
    const auto* vf = dynamic_cast<const Vf*>(&function);
    const auto gpu = vf == nullptr ? nullptr : vf->gpu.lock();
    return gpu && gpu->framework == Framework::vendor_vfio && function.driver == "nvidia";
}

bool Inventory::is_mdev_parent(const PciFunction& function) {
    if (function.driver != "nvidia") {
        return false;
    }
    if (const auto* gpu = dynamic_cast<const Gpu*>(&function)) {
        return gpu->framework == Framework::mdev_pf;
    }
    const auto* vf = dynamic_cast<const Vf*>(&function);
    const auto gpu = vf == nullptr ? nullptr : vf->gpu.lock();
    return gpu && gpu->framework == Framework::mdev;
}

void Inventory::attach(const std::shared_ptr<Device>& device, bool as_vfio) {
    if (device->group < 0) {
        device->group = next_group_++;
        groups_[device->group] = device;
    }
    if (as_vfio && device->vfio < 0) {
        device->vfio = next_vfio_++;
        vfios_[device->vfio] = device;
    }
}

void Inventory::detach(const std::shared_ptr<Device>& device) {
    vfios_.erase(std::exchange(device->vfio, -1));
    groups_.erase(std::exchange(device->group, -1));
}

void Inventory::place(const std::shared_ptr<PciFunction>& function, const Address& upstream) {
    const auto parent = directory_of(upstream);
    function->name = function->address.text();
    function->path = parent + "/" + function->name;
    function->generation = ++generation_;
    functions_[function->name] = function;
    children_[parent].insert(function->name);
    for (auto path = parent; path != "devices";) {
        const auto slash = path.rfind('/');
        auto name = path.substr(slash + 1);
        path.resize(slash);
        children_[path].insert(std::move(name));
    }
    attach(function, is_vfio(*function));
}

void Inventory::forget(const std::shared_ptr<PciFunction>& function) {
    while (!function->mdevs.empty()) {
        remove_mdev(function->mdevs.begin()->second);
    }
    detach(function);
    function->gone = true;
    functions_.erase(function->name);
    children_[function->path.substr(0, function->path.rfind('/'))].erase(function->name);
}

void Inventory::add_bridge(const Address& below) {
    const auto address = bridge_above(below);
    if (below.bus == 0 || functions_.contains(address.text())) {
        return;
    }
    auto bridge = std::make_shared<PciFunction>();
    bridge->address = address;
    bridge->ids = {0x8086, 0x347a, 0, 0x060400};
    bridge->driver = "pcieport";
    bridge->name = address.text();
    bridge->path = directory_of(below);
    bridge->generation = ++generation_;
    functions_[bridge->name] = bridge;
    attach(bridge, false);
}

Done Inventory::add_gpu(const GpuRequest& request) {
    const auto name = request.address.text();
    if (functions_.contains(name)) {
        return refused(fmt::format("there is a function {} already", name));
    }
    auto gpu = std::make_shared<Gpu>();
    gpu->address = request.address;
    gpu->ids = {0x10de, request.board->device_id, request.board->subsystem_id, 0x030200};
    gpu->driver = request.driver;
    gpu->numa_node = request.numa_node;
    gpu->vf_numa_node = request.vf_numa_node;
    gpu->model = request.model;
    gpu->board = request.board;
    gpu->framework = request.framework;
    gpu->catalogue_has_header = request.catalogue_has_header;
    gpu->framebuffer_mib = request.framebuffer_mib;
    gpu->max_vgpus = request.max_vgpus;
    gpu->first_vf = request.first_vf;
    gpu->total_vfs = request.total_vfs;
    gpu->capacity.emplace(*gpu->board, gpu->framebuffer_mib, gpu->max_vgpus);
    if (request.mig && !gpu->capacity->set_mig(true)) {
        return refused(fmt::format("a {} has no MIG", request.model));
    }
    add_bridge(gpu->address);
    place(gpu, gpu->address);
    gpus_[name] = gpu;
    if (auto done = enable_vfs(gpu, request.vfs); !done) {
        static_cast<void>(remove_gpu(name));
        return done;
    }
    gpu->capacity->set_mixed(request.mixed);
    return ok();
}

Done Inventory::remove_gpu(const std::string& address) {
    const auto found = gpus_.find(address);
    if (found == gpus_.end()) {
        return refused(fmt::format("there is no GPU {}", address));
    }
    const auto gpu = found->second;
    disable_vfs(gpu);
    forget(gpu);
    gpus_.erase(found);
    return ok();
}

Done Inventory::add_other(const Address& address, const PciIds& ids, const std::string& driver) {
    if (functions_.contains(address.text())) {
        return refused(fmt::format("there is a function {} already", address.text()));
    }
    auto function = std::make_shared<PciFunction>();
    function->address = address;
    function->ids = ids;
    function->driver = driver;
    function->numa_node = 0;
    add_bridge(address);
    place(function, address);
    return ok();
}

std::size_t Inventory::vf_count() const {
    std::size_t count = 0;
    for (const auto& [name, gpu] : gpus_) {
        count += gpu->vfs.size();
    }
    return count;
}

Done Inventory::enable_vfs(const std::shared_ptr<Gpu>& gpu, std::uint32_t count) {
    const auto present = static_cast<std::uint32_t>(gpu->vfs.size());
    if (count <= present) {
        return ok();
    }
    const bool room = count <= gpu->total_vfs && vf_count() + count - present <= max_vfs;
    if (!room || !gpu->address.plus(gpu->first_vf + count - 1) || gpu->driver != "nvidia") {
        return refused(
            fmt::format("{} cannot have {} VFs: it has {} of {}, its driver is '{}', the host may "
                        "have {}",
                        gpu->name, count, present, gpu->total_vfs, gpu->driver, max_vfs));
    }
    for (std::uint32_t i = present; i < count; ++i) {
        const auto address = *gpu->address.plus(gpu->first_vf + i);
        if (functions_.contains(address.text())) {
            return refused(
                fmt::format("VF {} of {} would be {}, which exists", i, gpu->name, address.text()));
        }
        auto vf = std::make_shared<Vf>();
        vf->address = address;
        vf->ids = gpu->ids;
        vf->driver = gpu->driver;
        vf->numa_node = gpu->vf_numa_node;
        vf->gpu = gpu;
        vf->index = i;
        place(vf, gpu->address);
        gpu->vfs.push_back(std::move(vf));
    }
    return ok();
}

void Inventory::drop_vgpus(const std::shared_ptr<Gpu>& gpu) {
    const bool mig = gpu->capacity->mig();
    gpu->capacity.emplace(*gpu->board, gpu->framebuffer_mib, gpu->max_vgpus);
    gpu->capacity->set_mig(mig);
    for (const auto* type : gpu->leaks) {
        gpu->capacity->force(*type);
    }
    gpu->catalogue.reset();
}

void Inventory::disable_vfs(const std::shared_ptr<Gpu>& gpu) {
    for (const auto& vf : gpu->vfs) {
        forget(vf);
    }
    gpu->vfs.clear();
    while (!gpu->mdevs.empty()) {
        remove_mdev(gpu->mdevs.begin()->second);
    }
    drop_vgpus(gpu);
}

} // namespace vgpu::simulator
