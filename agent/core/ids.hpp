#pragma once

#include "agent/core/result.hpp"

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace vgpu {

/// A PCI function: domain, bus, slot, function. Domains wider than 16 bits are ordinary behind VMD,
/// and nvidia-smi prints 8 digits in upper case where sysfs prints 4 in lower case: one value
/// compares equal however it was spelt.
struct PciAddress {
    std::uint32_t domain = 0;
    std::uint8_t bus = 0;
    std::uint8_t slot = 0;
    std::uint8_t function = 0;

    auto operator<=>(const PciAddress&) const = default;

    /// Accepts "DOMAIN:BUS:SLOT.FUNCTION", DOMAIN of 1 to 8 hex digits, any case. A domain is
    /// required: guessing 0000 has handed out the wrong device elsewhere.
    [[nodiscard]] static Result<PciAddress> parse(std::string_view text);
    /// As sysfs names it: "0000:41:00.4", "10000:e1:00.0".
    [[nodiscard]] std::string to_string() const;
};

/// A 128-bit UUID: a domain's, an mdev's or an incarnation.
struct Uuid {
    std::array<std::uint8_t, 16> bytes{};

    auto operator<=>(const Uuid&) const = default;

    /// Accepts the canonical form with dashes, or 32 hex digits without any; any case.
    [[nodiscard]] static Result<Uuid> parse(std::string_view text);
    /// A fresh random (version 4) UUID. Never blocks after boot.
    [[nodiscard]] static Uuid random();
    /// Canonical, lower case, as the kernel's mdev core prints it.
    [[nodiscard]] std::string to_string() const;
};

/// What a claim, a lock and a device are named by: a PCI function or an mdev.
class DeviceKey {
public:
    explicit DeviceKey(PciAddress address) : pci_(address) {}
    explicit DeviceKey(Uuid mdev) : mdev_(mdev) {}

    auto operator<=>(const DeviceKey&) const = default;

    /// Accepts "pci-0000:41:00.4" or "mdev-<uuid>", strictly as to_string() writes it.
    [[nodiscard]] static Result<DeviceKey> parse(std::string_view text);
    /// For people: also a bare PCI address or a bare UUID.
    [[nodiscard]] static Result<DeviceKey> parse_device(std::string_view text);

    [[nodiscard]] bool is_mdev() const { return mdev_.has_value(); }
    /// The PCI address; only for a key that is no mdev.
    [[nodiscard]] const PciAddress& pci() const { return *pci_; }
    [[nodiscard]] const Uuid& mdev() const { return *mdev_; }

    /// The name of the claim file without its suffix.
    [[nodiscard]] std::string to_string() const;
    /// As people name it: the address or the UUID alone.
    [[nodiscard]] std::string device() const;

private:
    std::optional<PciAddress> pci_;
    std::optional<Uuid> mdev_;
};

} // namespace vgpu
