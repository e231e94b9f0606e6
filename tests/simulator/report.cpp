#include "tests/simulator/command.hpp"
#include "tests/simulator/parse.hpp"

#include <fmt/format.h>

namespace vgpu::simulator {

namespace {

std::string_view on_off(bool on) {
    return on ? "on" : "off";
}

std::string_view framework_name(Framework framework) {
    switch (framework) {
    case Framework::vendor_vfio:
        return "vendor-vfio";
    case Framework::mdev:
        return "mdev";
    case Framework::mdev_pf:
        return "mdev-pf";
    case Framework::none:
        break;
    }
    return "none";
}

std::string holders_text(const Holders& holders) {
    if (!holders.held()) {
        return "";
    }
    std::string text =
        fmt::format(" group_opens={} cdev_opens={}", holders.group_opens + holders.group_fakes,
                    holders.cdev_opens + holders.cdev_fakes);
    for (const auto& [pid, count] : holders.pids) {
        text += fmt::format(" holder={}", pid);
    }
    return text + (holders.marked ? " held=marked" : "");
}

std::string vgpu_text(const Vgpu& vgpu) {
    if (vgpu.type == nullptr) {
        return " type=0";
    }
    return fmt::format(" type={} name=\"{}\" placement={} params=\"{}\"{}", vgpu.type->id,
                       vgpu.type->name, vgpu.placement.id, vgpu.params,
                       vgpu.placement.forced ? " forced" : "");
}

std::string faults_text(const Misbehaviour& faults) {
    std::string text;
    const auto add = [&](std::string_view name, std::uint64_t value) {
        text += value == 0 ? "" : fmt::format(" {}={}", name, value);
    };
    add("delay_ms", faults.delay_ms);
    add("settle_ms", faults.settle_ms);
    add("ignore_resets", faults.ignore_resets);
    add("stale_reads", faults.stale_reads);
    add("lies", faults.lie.reads);
    text += faults.block == Block::none   ? ""
            : faults.block == Block::hard ? " blocked=hard"
                                          : " blocked";
    return text + (faults.wedged ? " wedged" : "");
}

std::string device_text(std::string_view kind, const Device& device, const std::string& vgpu) {
    return fmt::format("{} {} group={} vfio={}{}{}{}\n", kind, device.name, device.group,
                       device.vfio, vgpu, holders_text(device.holders), faults_text(device.faults));
}

bool has_something_to_say(const Vf& vf) {
    return vf.vgpu.type != nullptr || vf.broken || vf.holders.held() ||
           !vf.counters.all().empty() || !faults_text(vf.faults).empty();
}

std::string counters_text(const std::string& prefix, const Counters& counters) {
    std::string text;
    for (const auto& [name, value] : counters.all()) {
        text += fmt::format("counter {}{} {}\n", prefix, name, value);
    }
    return text;
}

std::string gpu_text(const Gpu& gpu) {
    const auto& capacity = *gpu.capacity;
    auto text = fmt::format(
        "gpu {} model={} framework={} driver={} group={} vfs={} total_vfs={} vgpus={} used_mib={} "
        "framebuffer_mib={} mixed={} mig={} instances={} leaks={}{}{}\n",
        gpu.name, gpu.model, framework_name(gpu.framework),
        gpu.driver.empty() ? "none" : gpu.driver, gpu.group, gpu.vfs.size(), gpu.total_vfs,
        capacity.count(), capacity.used_mib(), gpu.framebuffer_mib, on_off(capacity.mixed()),
        on_off(capacity.mig()), capacity.instances(), gpu.leaks.size(), holders_text(gpu.holders),
        faults_text(gpu.faults));
    for (const auto& vf : gpu.vfs) {
        if (has_something_to_say(*vf)) {
            text += device_text("vf", *vf, vgpu_text(vf->vgpu) + (vf->broken ? " broken" : ""));
        }
    }
    return text;
}

std::string fault_text(const Fault& fault) {
    const std::string_view data = fault.data == Fault::Data::zero    ? "-zero"
                                  : fault.data == Fault::Data::other ? "-other"
                                                                     : "";
    return fmt::format("fault {}{}{} {}{} {} left={}{}\n", fault.device,
                       fault.device.empty() ? "" : " ", fault.file, to_string(fault.operation),
                       data, errno_name(fault.error),
                       fault.left == Fault::always ? "always" : fmt::format("{}", fault.left),
                       fault.after ? " after" : "");
}

} // namespace

std::string report(const Host& host) {
    std::string text = fmt::format("host boot_id={} driver={} strict={} iommufd={}\n", host.boot_id,
                                   host.settings.driver_version, on_off(host.settings.strict),
                                   on_off(host.settings.iommufd));
    if (!host.last_error.empty()) {
        text += fmt::format("error {}\n", host.last_error);
    }
    for (const auto& [address, gpu] : host.inventory.gpus()) {
        text += gpu_text(*gpu);
    }
    for (const auto& [uuid, mdev] : host.inventory.mdevs()) {
        const auto parent = mdev->parent.lock();
        text += device_text("mdev", *mdev,
                            fmt::format(" parent={}{}", parent->name, vgpu_text(mdev->vgpu)));
    }
    for (const auto& [pid, process] : host.processes) {
        text += fmt::format("process {} \"{}\" tasks={} fds={}\n", pid, process->tasks.at(pid).comm,
                            process->tasks.size(), process->fds.size());
    }
    for (const auto& fault : host.faults.all()) {
        text += fault_text(fault);
    }
    text += counters_text("", host.counters);
    for (const auto& [address, function] : host.inventory.functions()) {
        text += counters_text(address + ".", function->counters);
    }
    for (const auto& [uuid, mdev] : host.inventory.mdevs()) {
        text += counters_text(uuid + ".", mdev->counters);
    }
    return text;
}

} // namespace vgpu::simulator
