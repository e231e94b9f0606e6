#include "tests/simulator/tree.hpp"

#include "tests/simulator/trees.hpp"

#include <algorithm>
#include <cerrno>

namespace vgpu::simulator {

namespace {

constexpr std::uint64_t hash_start = 0xcbf29ce484222325U;

/// FNV-1a.
std::uint64_t hash(std::string_view text, std::uint64_t value) {
    for (const char c : text) {
        value = (value ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    }
    return value;
}

bool ends_with_parts(std::string_view path, std::string_view parts) {
    return path.ends_with(parts) &&
           (path.size() == parts.size() || path[path.size() - parts.size() - 1] == '/');
}

template <typename Map>
auto overlay(const Map& map, std::string_view path) {
    return std::ranges::find_if(
        map, [&](const auto& entry) { return ends_with_parts(path, entry.first); });
}

Shape shape_of(const Node& node, std::string_view path) {
    if (!node.device || node.device->shapes.empty()) {
        return Shape::normal;
    }
    const auto found = overlay(node.device->shapes, path);
    return found == node.device->shapes.end() ? Shape::normal : found->second;
}

/// What a test ordered for this entry instead of what it is. False when it is not to be there.
bool apply_overlays(Node& node, std::string_view path) {
    const auto shape = shape_of(node, path);
    if (shape == Shape::absent) {
        return false;
    }
    if (shape == Shape::directory ||
        (shape == Shape::empty && node.kind == Node::Kind::directory)) {
        auto device = node.device;
        node = fixed_directory({});
        node.device = std::move(device);
    } else if (shape == Shape::empty) {
        node.read = []() -> Text { return ""; };
    }
    if (node.device && node.read && !node.device->contents.empty()) {
        const auto found = overlay(node.device->contents, path);
        if (found != node.device->contents.end()) {
            node.read = [text = found->second]() -> Text { return text; };
        }
    }
    return true;
}

Node root(Host& host) {
    return fixed_directory({{"sys", [&host] { return sys_tree(host); }},
                            {"proc", [&host] { return proc_tree(host); }},
                            {"dev", [&host] { return dev_tree(host); }},
                            {"control", [&host] { return control_file(host); }}});
}

} // namespace

Node fixed_directory(std::vector<std::pair<std::string, std::function<Node()>>> entries) {
    const auto shared = std::make_shared<decltype(entries)>(std::move(entries));
    return directory(
        [shared](const std::string& name) -> std::optional<Node> {
            const auto found = std::ranges::find_if(
                *shared, [&](const auto& entry) { return entry.first == name; });
            return found == shared->end() ? std::nullopt : std::optional(found->second());
        },
        [shared]() -> Names { return keys(*shared); });
}

tl::expected<Node, int> Tree::resolve(std::string_view path) const {
    Node node = root(host_);
    std::size_t position = 1;
    while (position < path.size()) {
        const auto end = std::min(path.find('/', position), path.size());
        std::string name(path.substr(position, end - position));
        if (node.kind != Node::Kind::directory) {
            return tl::unexpected<int>(ENOTDIR);
        }
        auto child = node.find(name);
        if (!child) {
            return tl::unexpected<int>(ENOENT);
        }
        if (!child->device) {
            child->device = node.device;
        }
        if (!child->process) {
            child->process = node.process;
        }
        child->name = std::move(name);
        if (!apply_overlays(*child, path.substr(0, end))) {
            return tl::unexpected<int>(ENOENT);
        }
        node = std::move(*child);
        position = end + 1;
    }
    node.inode = hash(path, hash_start + (node.device ? node.device->generation : 0));
    if (node.kind == Node::Kind::directory && node.label.empty() && !node.device) {
        node.label = path.size() > 1 ? path.substr(1) : "/";
    }
    return node;
}

Names Tree::list(const Node& node, std::string_view path) const {
    auto names = node.list();
    if (!names) {
        return names;
    }
    std::erase_if(*names, [&](const std::string& name) {
        return shape_of(node, std::string(path) + "/" + name) == Shape::absent;
    });
    if (const auto seed = host_.settings.shuffle; seed != 0) {
        std::ranges::sort(*names, {},
                          [&](const std::string& name) { return hash(name, hash_start ^ seed); });
    }
    return names;
}

} // namespace vgpu::simulator
