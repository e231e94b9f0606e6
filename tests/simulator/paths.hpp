#pragma once

#include <string>
#include <string_view>

namespace vgpu::simulator {

/// The text of a link in directory `from` to `to`, both from the same root: "../../b" as sysfs
/// writes it.
inline std::string relative_link(std::string_view from, std::string_view to) {
    std::size_t common = 0;
    for (std::size_t i = 0; i <= from.size() && i <= to.size(); ++i) {
        const bool from_ends = i == from.size() || from[i] == '/';
        const bool to_ends = i == to.size() || to[i] == '/';
        if (from_ends && to_ends) {
            common = i;
        }
        if (i == from.size() || i == to.size() || from[i] != to[i]) {
            break;
        }
    }
    std::string up;
    for (std::size_t i = common; i < from.size(); ++i) {
        up += from[i] == '/' || (i == 0 && common == 0) ? "../" : "";
    }
    const auto down = to.substr(common);
    return up + std::string(down.starts_with('/') ? down.substr(1) : down);
}

} // namespace vgpu::simulator
