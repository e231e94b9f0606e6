#pragma once

#include "tests/simulator/host.hpp"

#include <string_view>

namespace vgpu::simulator {

/// The whole served tree. All functions need the host's lock.
class Tree {
public:
    explicit Tree(Host& host) : host_(host) {}

    /// The node at an absolute path, with what tests have laid over it; or an errno value.
    [[nodiscard]] tl::expected<Node, int> resolve(std::string_view path) const;
    /// The names in a directory, in the order in which it lists them.
    [[nodiscard]] Names list(const Node& node, std::string_view path) const;

private:
    Host& host_;
};

} // namespace vgpu::simulator
