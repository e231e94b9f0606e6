#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace vgpu::simulator {

/// A PCI function of the simulated host. Kept apart from the product's own type on purpose: a
/// mistake in one of the two must not hide in the other.
struct Address {
    std::uint32_t domain = 0;
    std::uint8_t bus = 0;
    std::uint8_t devfn = 0;

    auto operator<=>(const Address&) const = default;

    /// Accepts "0000:41:00.4" and wider domains such as "10000:e1:00.0".
    static std::optional<Address> parse(std::string_view text);
    /// As sysfs prints it.
    [[nodiscard]] std::string text() const;
    /// The function `count` routing ids further on, which is how SR-IOV numbers VFs; nullopt past
    /// bus ff.
    [[nodiscard]] std::optional<Address> plus(std::uint32_t count) const;
};

} // namespace vgpu::simulator
