#include "xml/instance_parts.hpp"

#include <algorithm>
#include <map>

namespace vgpu::xml {

namespace {

/// Gives out target names: vda, vdb, ..., vdz, vdaa.
class Targets {
public:
    std::string next(const std::string& bus) {
        // scsi, sata and usb share one row of names, as disks do in a guest.
        const char* prefix = bus == "virtio" ? "vd" : "sd";
        std::string letters;
        for (unsigned number = ++given_[prefix]; number > 0; number = (number - 1) / 26) {
            letters.insert(letters.begin(), static_cast<char>('a' + (number - 1) % 26));
        }
        return prefix + letters;
    }

private:
    std::map<std::string, unsigned> given_;
};

std::string bus_of(const InstanceDisk& disk) {
    if (!disk.bus.empty()) {
        return disk.bus;
    }
    return disk.cdrom ? "sata" : "virtio";
}

void add_boot_order(Element& device, const std::optional<std::uint32_t>& order) {
    if (order) {
        device.add("boot").with("order", std::to_string(*order));
    }
}

void add_disk(Element& devices, const InstanceDisk& disk, const std::string& bus,
              Targets& targets) {
    const bool block = disk.path.starts_with("/dev/");
    Element element = devices.add("disk")
                          .with("type", block ? "block" : "file")
                          .with("device", disk.cdrom ? "cdrom" : "disk");
    // The format is always said: one that is probed from the content is the guest's to choose.
    element.add("driver")
        .with("name", "qemu")
        .with("type", disk.format.empty() ? "raw" : disk.format);
    element.add("source").with(block ? "dev" : "file", disk.path);
    element.add("target").with("dev", targets.next(bus)).with("bus", bus);
    if (disk.readonly || disk.cdrom) {
        element.add("readonly");
    }
    add_boot_order(element, disk.boot_order);
}

/// sata does not exist on ARM's virt machine.
std::string cdrom_bus(const InstanceRequest& request) {
    return is_arm(request) ? "scsi" : "sata";
}

void add_disks(Element& devices, const InstanceRequest& request) {
    Targets targets;
    bool scsi = false;
    std::vector<InstanceDisk> disks = request.disks;
    if (!request.cloud_init_iso.empty()) {
        InstanceDisk& iso = disks.emplace_back();
        iso.path = request.cloud_init_iso;
        iso.cdrom = true;
    }
    for (const InstanceDisk& disk : disks) {
        const std::string bus = disk.cdrom && disk.bus.empty() ? cdrom_bus(request) : bus_of(disk);
        scsi = scsi || bus == "scsi";
        add_disk(devices, disk, bus, targets);
    }
    if (scsi) {
        devices.add("controller")
            .with("type", "scsi")
            .with("index", "0")
            .with("model", "virtio-scsi");
    }
}

void add_network(Element& devices, const InstanceNetwork& card) {
    const bool bridge = !card.bridge.empty();
    Element element = devices.add("interface").with("type", bridge ? "bridge" : "network");
    if (!card.mac.empty()) {
        element.add("mac").with("address", card.mac);
    }
    element.add("source").with(bridge ? "bridge" : "network", bridge ? card.bridge : card.network);
    element.add("model").with("type", card.model.empty() ? "virtio" : card.model);
    add_boot_order(element, card.boot_order);
}

void add_console(Element& devices) {
    devices.add("serial").with("type", "pty").add("target").with("port", "0");
    devices.add("console")
        .with("type", "pty")
        .add("target")
        .with("type", "serial")
        .with("port", "0");
}

/// A screen. With the vGPU as the guest's display there is no second card beside it.
void add_screen(Element& devices, const InstanceRequest& request) {
    const bool on_vgpu = std::ranges::any_of(request.gpus, &InstanceGpu::display);
    devices.add("input").with("type", "tablet").with("bus", "usb");
    if (is_arm(request)) {
        devices.add("input").with("type", "keyboard").with("bus", "usb");
    }
    // Without a listen address it is what the host's qemu.conf says, by default its loopback.
    devices.add("graphics").with("type", "vnc").with("port", "-1").with("autoport", "yes");
    devices.add("video").add("model").with("type", on_vgpu           ? "none"
                                                   : is_arm(request) ? "virtio"
                                                                     : "vga");
}

} // namespace

void add_devices(Element& domain, const InstanceRequest& request) {
    Element devices = domain.add("devices");
    add_disks(devices, request);
    devices.add("controller")
        .with("type", "usb")
        .with("index", "0")
        .with("model", "qemu-xhci")
        .with("ports", "15");
    for (const InstanceNetwork& card : request.networks) {
        add_network(devices, card);
    }
    if (request.console) {
        add_console(devices);
    }
    devices.add("channel")
        .with("type", "unix")
        .add("target")
        .with("type", "virtio")
        .with("name", "org.qemu.guest_agent.0");
    if (!request.graphics.empty()) {
        add_screen(devices, request);
    }
    devices.add("memballoon").with("model", "virtio");
    devices.add("rng")
        .with("model", "virtio")
        .add("backend", "/dev/urandom")
        .with("model", "random");
}

} // namespace vgpu::xml
