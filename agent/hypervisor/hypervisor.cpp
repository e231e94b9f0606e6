#include "agent/hypervisor/hypervisor.hpp"

#include <fmt/format.h>

namespace vgpu {

namespace {

/// libvirt counts a driver that is not named vfio-pci as VFIO from here on, if the device has a
/// vfio-dev directory (NEWS of 9.7.0).
constexpr Version first_with_variant_drivers = 9007000;

} // namespace

std::string version_text(Version version) {
    return version == 0
               ? "unknown"
               : fmt::format("{}.{}.{}", version / 1000000, version / 1000 % 1000, version % 1000);
}

std::optional<Error> vendor_vfio_obstacle(const HypervisorFacts& hypervisor) {
    if (hypervisor.driver != "QEMU") {
        return Error(
            ErrorCode::unsupported,
            fmt::format("VFs of the vendor-vfio framework work with QEMU domains (type "
                        "kvm or qemu) only, and the hypervisor behind this connection is {}",
                        printable(hypervisor.driver, 40)));
    }
    if (hypervisor.libvirt < first_with_variant_drivers) {
        return Error(
            ErrorCode::unsupported,
            fmt::format("the libvirt daemon is {}, and before 9.7.0 it refuses a VF that is "
                        "bound to the nvidia driver (\"must be manually detached from the "
                        "host\"); install a newer one (Debian 12: libvirt-daemon-system "
                        "from bookworm-backports), or use a GPU whose driver makes mdevs",
                        version_text(hypervisor.libvirt)));
    }
    return std::nullopt;
}

} // namespace vgpu
