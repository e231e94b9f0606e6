#include "xml/instance_builder.hpp"

#include "xml/domain_nodes.hpp"
#include "xml/instance_metadata.hpp"
#include "xml/instance_parts.hpp"
#include "xml/instance_request.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace vgpu::xml {

namespace {

/// A value, or what stands for none.
std::string value_or(const std::string& value, const char* otherwise) {
    return value.empty() ? std::string(otherwise) : value;
}

void add_heading(Element& domain, const InstanceRequest& request, const Uuid& uuid) {
    domain.add("name", request.name);
    domain.add("uuid", uuid.to_string());
    if (!request.title.empty()) {
        domain.add("title", request.title);
    }
    if (!request.description.empty()) {
        domain.add("description", request.description);
    }
    domain.add("metadata").add("instance", request_text(request), instance_namespace, "vgpu");
}

void add_size(Element& domain, const InstanceRequest& request) {
    domain.add("memory", std::to_string(request.memory_mib * 1024)).with("unit", "KiB");
    domain.add("vcpu", std::to_string(request.vcpus))
        .with("placement", "static")
        .with_if("cpuset", request.numa.cpuset);
    if (!request.numa.nodeset.empty()) {
        domain.add("numatune")
            .add("memory")
            .with("mode", value_or(request.numa.mode, "strict"))
            .with("nodeset", request.numa.nodeset);
    }
}

/// libvirt takes boot orders of devices or a list of kinds, never both.
void add_boot(Element& os, const InstanceRequest& request) {
    const auto ordered = [](const auto& device) { return device.boot_order.has_value(); };
    if (std::ranges::any_of(request.disks, ordered) ||
        std::ranges::any_of(request.networks, ordered)) {
        return;
    }
    const auto cdroms = std::ranges::count(request.disks, true, &InstanceDisk::cdrom);
    if (std::cmp_less(cdroms, request.disks.size())) {
        os.add("boot").with("dev", "hd");
    }
    if (cdroms > 0) {
        os.add("boot").with("dev", "cdrom");
    }
    if (request.disks.empty() && !request.networks.empty()) {
        os.add("boot").with("dev", "network");
    }
}

bool uses_uefi(const InstanceRequest& request) {
    return request.firmware == "uefi" || is_arm(request);
}

void add_os(Element& domain, const InstanceRequest& request) {
    Element os = domain.add("os");
    if (uses_uefi(request)) {
        os.with("firmware", "efi");
    }
    os.add("type", "hvm")
        .with("arch", value_or(request.arch, "x86_64"))
        .with("machine", value_or(request.machine, is_arm(request) ? "virt" : "q35"));
    if (!request.kernel.empty()) {
        os.add("kernel", request.kernel);
    }
    if (!request.initrd.empty()) {
        os.add("initrd", request.initrd);
    }
    if (!request.cmdline.empty()) {
        os.add("cmdline", request.cmdline);
    }
    add_boot(os, request);
}

void add_cpu(Element& domain, const InstanceRequest& request, std::string_view virt_type) {
    const std::string cpu =
        value_or(request.cpu, virt_type == "kvm" ? "host-passthrough" : "maximum");
    if (cpu == "host-passthrough" || cpu == "host-model" || cpu == "maximum") {
        domain.add("cpu").with("mode", cpu);
        return;
    }
    domain.add("cpu")
        .with("mode", "custom")
        .with("match", "exact")
        .add("model", cpu)
        .with("fallback", "forbid");
}

/// As virt-install has it: a guest that was not scheduled for a while catches up by the RTC, and is
/// offered no HPET. None of these timers is there on ARM.
void add_clock(Element& domain, const InstanceRequest& request) {
    Element clock = domain.add("clock").with("offset", "utc");
    if (is_arm(request)) {
        return;
    }
    clock.add("timer").with("name", "rtc").with("tickpolicy", "catchup");
    clock.add("timer").with("name", "pit").with("tickpolicy", "delay");
    clock.add("timer").with("name", "hpet").with("present", "no");
}

void add_platform(Element& domain, const InstanceRequest& request, std::string_view virt_type) {
    Element features = domain.add("features");
    features.add("acpi");
    if (!is_arm(request)) {
        features.add("apic");
    }
    add_cpu(domain, request, virt_type);
    add_clock(domain, request);
    if (!is_arm(request)) {
        // A guest that sleeps cannot be told from one that hangs, and vGPUs do not survive it.
        Element pm = domain.add("pm");
        pm.add("suspend-to-mem").with("enabled", "no");
        pm.add("suspend-to-disk").with("enabled", "no");
    }
}

} // namespace

Result<std::string> instance_xml(const InstanceRequest& request, const Uuid& uuid,
                                 std::string_view virt_type) {
    VGPU_TRY(check_instance_request(request));
    if (!request.virt_type.empty()) {
        virt_type = request.virt_type;
    }
    if (!request.base_xml.empty()) {
        return based_xml(request, uuid, request.virt_type);
    }
    if (virt_type != "kvm" && virt_type != "qemu") {
        return fail(ErrorCode::invalid,
                    fmt::format("instance {}: the domain type \"{}\" is not one of: kvm, qemu",
                                request.name, printable(virt_type, 40)));
    }
    if (virt_type == "qemu" && request.cpu.starts_with("host-")) {
        return fail(ErrorCode::invalid, fmt::format("/cpu: {} needs virt_type kvm", request.cpu));
    }
    NewDocument document("domain");
    Element domain = document.root().with("type", std::string(virt_type));
    add_heading(domain, request, uuid);
    add_size(domain, request);
    add_os(domain, request);
    add_platform(domain, request, virt_type);
    add_devices(domain, request);
    return document.text();
}

Result<Assignment> assignment_of(const InstanceRequest& request, std::size_t index,
                                 const DeviceKey& device) {
    const InstanceGpu& gpu = request.gpus.at(index);
    if (gpu.display && !device.is_mdev()) {
        return fail(ErrorCode::unsupported,
                    fmt::format("vGPU {} asks for a display, which only an mdev has: {} is a "
                                "virtual function; ask without display, and use a remote desktop "
                                "of the guest",
                                gpu.name, device.device()));
    }
    const auto first = std::ranges::find(request.gpus, true, &InstanceGpu::display);
    const bool is_first = first == request.gpus.begin() + static_cast<std::ptrdiff_t>(index);
    return Assignment{gpu, device, gpu.display, is_first};
}

Result<std::string> with_devices(std::string_view xml, const InstanceRequest& request,
                                 const std::vector<DeviceKey>& devices) {
    if (devices.size() != request.gpus.size()) {
        return fail(ErrorCode::invalid,
                    fmt::format("instance {} asks for {} vGPUs, and {} devices are given",
                                request.name, request.gpus.size(), devices.size()));
    }
    std::set<DeviceKey> seen;
    std::string result(xml);
    for (std::size_t i = 0; i < devices.size(); ++i) {
        if (!seen.insert(devices[i]).second) {
            return fail(ErrorCode::invalid, fmt::format("instance {}: {} is given to two vGPUs",
                                                        request.name, devices[i].device()));
        }
        VGPU_TRY_ASSIGN(const Assignment assignment, assignment_of(request, i, devices[i]));
        VGPU_TRY_ASSIGN(result, with_assignment(result, assignment));
    }
    return result;
}

Result<std::string> virt_type_of(std::string_view xml) {
    VGPU_TRY_ASSIGN(const Document document, Document::parse(xml));
    VGPU_TRY_ASSIGN(xmlNode * domain, domain_node(document));
    return attribute(domain, "type").value_or("");
}

} // namespace vgpu::xml
