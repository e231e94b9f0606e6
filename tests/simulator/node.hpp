#pragma once

#include "tests/simulator/processes.hpp"

#include <tl/expected.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vgpu::simulator {

using Text = tl::expected<std::string, int>; ///< or an errno value
using Names = tl::expected<std::vector<std::string>, int>;

/// A file, directory or link of the tree, made when somebody names it: with thousands of VFs the
/// tree is never built. The functions run under the host's lock and answer 0 or an errno value.
struct Node {
    enum class Kind { directory, file, link };

    Kind kind = Kind::directory;
    unsigned mode = 0555;
    std::string name;  ///< last part of the path, set by whoever resolves it
    std::string label; ///< what counters and faults call it, when not `name`
    std::uint64_t inode = 0;
    std::shared_ptr<Device> device;   ///< whose directory it is in
    std::shared_ptr<Process> process; ///< of the simulated /proc, below whose directory it is
    std::string target;               ///< of a link
    std::function<std::optional<Node>(const std::string&)> find = {};
    std::function<Names()> list = {};
    std::function<Text()> read = {};
    std::function<int(Call&, std::string_view)> write = {};
    std::function<int(pid_t)> open = {};
    std::function<void(pid_t)> release = {};

    [[nodiscard]] const std::string& called() const { return label.empty() ? name : label; }
};

inline Node directory(std::function<std::optional<Node>(const std::string&)> find,
                      std::function<Names()> list) {
    Node node;
    node.find = std::move(find);
    node.list = std::move(list);
    return node;
}

inline Node file(std::function<Text()> read) {
    Node node;
    node.kind = Node::Kind::file;
    node.mode = 0444;
    node.read = std::move(read);
    return node;
}

inline Node text_file(std::string text) {
    return file([text = std::move(text)]() -> Text { return text; });
}

inline Node writable(std::function<Text()> read,
                     std::function<int(Call&, std::string_view)> write) {
    Node node = file(std::move(read));
    node.mode = 0644;
    node.write = std::move(write);
    return node;
}

/// An attribute that can only be written, such as an mdev type's `create`.
inline Node trigger(std::function<int(Call&, std::string_view)> write) {
    Node node;
    node.kind = Node::Kind::file;
    node.mode = 0200;
    node.write = std::move(write);
    return node;
}

inline Node link(std::string target) {
    Node node;
    node.kind = Node::Kind::link;
    node.mode = 0777;
    node.target = std::move(target);
    return node;
}

/// The same node under another name for counters and faults.
inline Node labelled(Node node, std::string label) {
    node.label = std::move(label);
    return node;
}

/// A row of a directory whose entries are known beforehand: its name, whether `object` has it, and
/// it.
template <typename T>
struct Entry {
    std::string_view name;
    bool (*present)(const T& object);
    Node (*make)(const T& object);
};

template <typename T, std::size_t count>
std::optional<Node> find_entry(const Entry<T> (&entries)[count], const T& object,
                               std::string_view name) {
    for (const auto& entry : entries) {
        if (entry.name == name) {
            return entry.present(object) ? std::optional(entry.make(object)) : std::nullopt;
        }
    }
    return std::nullopt;
}

template <typename T, std::size_t count>
void list_entries(const Entry<T> (&entries)[count], const T& object,
                  std::vector<std::string>& names) {
    for (const auto& entry : entries) {
        if (entry.present(object)) {
            names.emplace_back(entry.name);
        }
    }
}

} // namespace vgpu::simulator
