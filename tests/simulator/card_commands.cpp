#include "tests/simulator/command.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace vgpu::simulator {

namespace {

bool has_holders(const Gpu& gpu) {
    return gpu.holders.held() ||
           std::ranges::any_of(gpu.vfs, [](const auto& vf) { return vf->holders.held(); }) ||
           std::ranges::any_of(gpu.vfs, [](const auto& vf) {
               return std::ranges::any_of(
                   vf->mdevs, [](const auto& mdev) { return mdev.second->holders.held(); });
           });
}

/// What the driver's sriov-manage does: it needs the driver for itself, and can stop half way.
Done change_vfs(Host& host, const std::shared_ptr<Gpu>& gpu, const std::string& what) {
    const auto number = parse_number(what);
    if (what != "on" && what != "off" && what != "cycle" && !number) {
        return refused(fmt::format("'{}' is not on, off, cycle or a number", what));
    }
    const auto target = number          ? static_cast<std::uint32_t>(*number)
                        : what == "off" ? 0
                                        : gpu->total_vfs;
    if (what != "cycle" && target == gpu->vfs.size()) {
        return ok();
    }
    if (gpu->nvml_client) {
        return refused(fmt::format("Cannot obtain unbindLock for {}", gpu->name));
    }
    if (gpu->sriov_fails) {
        gpu->sriov_fails = false;
        static_cast<void>(host.inventory.unbind(gpu));
        return refused("File exists; No such device");
    }
    const auto before = gpu->vfs.size();
    if (what == "cycle" || target < before) {
        host.inventory.disable_vfs(gpu);
    }
    return host.inventory.enable_vfs(gpu,
                                     what == "cycle" ? static_cast<std::uint32_t>(before) : target);
}

Done sriov(Host& host, Arguments& a) {
    SIMULATOR_TRY(const auto name, a.next("PF"));
    SIMULATOR_TRY(const auto what, a.next("on, off, cycle or a number"));
    const auto force = a.maybe();
    SIMULATOR_CHECK(a.end());
    SIMULATOR_TRY(const auto gpu, gpu_named(host, name));
    if (force && *force != "force") {
        return refused(fmt::format("'{}' is not 'force'", *force));
    }
    if (!force && has_holders(*gpu)) {
        return refused(
            fmt::format("a device of {} is in use; say 'force' to do it all the same", name));
    }
    return change_vfs(host, gpu, what);
}

Done sriov_fail(Host& host, Arguments& a) {
    SIMULATOR_TRY(const auto name, a.next("PF"));
    SIMULATOR_CHECK(a.end());
    SIMULATOR_TRY(const auto gpu, gpu_named(host, name));
    gpu->sriov_fails = true;
    return ok();
}

Done nvml_client(Host& host, Arguments& a) {
    SIMULATOR_TRY(const auto name, a.next("PF"));
    SIMULATOR_TRY(const auto on, a.on_off("the client"));
    SIMULATOR_CHECK(a.end());
    SIMULATOR_TRY(const auto gpu, gpu_named(host, name));
    gpu->nvml_client = on;
    return ok();
}

Done mixed(Host& host, Arguments& a) {
    SIMULATOR_TRY(const auto name, a.next("PF"));
    SIMULATOR_TRY(const auto on, a.on_off("mixed-size mode"));
    SIMULATOR_CHECK(a.end());
    SIMULATOR_TRY(const auto gpu, gpu_named(host, name));
    if (gpu->capacity->mig() || !gpu->capacity->set_mixed(on)) {
        return refused(fmt::format("{}: In use by another client", name));
    }
    gpu->catalogue.reset();
    return ok();
}

Done mig_instances(Gpu& gpu, Arguments& a) {
    SIMULATOR_TRY(const auto slices, a.number("SLICES"));
    SIMULATOR_TRY(const auto count, a.count(1));
    SIMULATOR_CHECK(a.end());
    if (gpu.vfs.empty() || !gpu.capacity->add_instances(static_cast<std::uint32_t>(slices),
                                                        static_cast<std::uint32_t>(count))) {
        return refused(
            fmt::format("{} cannot make {} GPU instances of {} slices: it needs VFs, MIG on, types "
                        "of that size and room",
                        gpu.name, count, slices));
    }
    return ok();
}

Done mig(Host& host, Arguments& a) {
    SIMULATOR_TRY(const auto name, a.next("PF"));
    SIMULATOR_TRY(const auto what, a.next("on, off, create or destroy"));
    SIMULATOR_TRY(const auto gpu, gpu_named(host, name));
    gpu->catalogue.reset();
    if (what == "create") {
        return mig_instances(*gpu, a);
    }
    SIMULATOR_CHECK(a.end());
    if (what == "destroy") {
        if (gpu->capacity->in_use()) {
            return refused(fmt::format("{}: In use by another client", name));
        }
        gpu->capacity->destroy_instances();
        return ok();
    }
    if (what != "on" && what != "off") {
        return refused(fmt::format("'{}' is not on, off, create or destroy", what));
    }
    if ((what == "off" && !gpu->vfs.empty()) || !gpu->capacity->set_mig(what == "on")) {
        return refused(fmt::format("{}: In use by another client", name));
    }
    return ok();
}

tl::expected<std::shared_ptr<PciFunction>, std::string> function_named(Host& host,
                                                                       const std::string& name) {
    SIMULATOR_TRY(const auto device, device_named(host, name));
    auto function = std::dynamic_pointer_cast<PciFunction>(device);
    if (!function) {
        return refused(fmt::format("{} is no PCI function", name));
    }
    return function;
}

Done unbind(Host& host, Arguments& a) {
    SIMULATOR_TRY(const auto name, a.next("DEVICE"));
    SIMULATOR_CHECK(a.end());
    SIMULATOR_TRY(const auto function, function_named(host, name));
    return host.inventory.unbind(function);
}

Done bind(Host& host, Arguments& a) {
    SIMULATOR_TRY(const auto name, a.next("DEVICE"));
    SIMULATOR_TRY(const auto driver, a.next("DRIVER"));
    SIMULATOR_CHECK(a.end());
    SIMULATOR_TRY(const auto function, function_named(host, name));
    return host.inventory.bind(function, driver);
}

Done reboot(Host& host, Arguments& a) {
    const auto keep = a.maybe();
    SIMULATOR_CHECK(a.end());
    if (keep && *keep != "keep-sriov") {
        return refused(fmt::format("'{}' is not 'keep-sriov'", *keep));
    }
    host.reboot(keep.has_value());
    return ok();
}

/// As a reboot, but processes and the boot id stay.
Done driver_reload(Host& host, Arguments& a) {
    SIMULATOR_CHECK(a.end());
    for (const auto& [name, gpu] : host.inventory.gpus()) {
        if (has_holders(*gpu)) {
            return refused(fmt::format("a device of {} is in use", name));
        }
    }
    for (const auto& [name, gpu] : host.inventory.gpus()) {
        host.inventory.disable_vfs(gpu);
    }
    return ok();
}

} // namespace

std::vector<Command> card_commands() {
    return {
        {"sriov", "PF on|off|cycle|COUNT [force]", sriov},
        {"sriov-fail", "PF", sriov_fail},
        {"nvml-client", "PF on|off", nvml_client},
        {"mixed", "PF on|off", mixed},
        {"mig", "PF on|off|destroy|create SLICES [COUNT]", mig},
        {"unbind", "DEVICE", unbind},
        {"bind", "DEVICE DRIVER", bind},
        {"reboot", "[keep-sriov]", reboot},
        {"driver-reload", "", driver_reload},
    };
}

} // namespace vgpu::simulator
