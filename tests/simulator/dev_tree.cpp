#include "tests/simulator/trees.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <optional>

namespace vgpu::simulator {

namespace {

/// A number that is the whole of `text`.
std::optional<int> whole_number(std::string_view text) {
    int number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size()) {
        return std::nullopt;
    }
    return number;
}

Node special_file(std::string label) {
    Node node;
    node.kind = Node::Kind::file;
    node.mode = 0600;
    node.label = std::move(label);
    node.read = []() -> Text { return tl::unexpected<int>(EINVAL); };
    node.write = [](Call&, std::string_view) { return EINVAL; };
    return node;
}

/// A reboot has forgotten handles that are still open.
void close_one(Holders& holders, unsigned& opens, pid_t pid) {
    opens -= opens > 0 ? 1 : 0;
    const auto found = holders.pids.find(pid);
    if (found != holders.pids.end() && --found->second == 0) {
        holders.pids.erase(found);
    }
}

/// The group node: the kernel lets one open it at a time.
Node group_node(Host& host, const std::shared_ptr<Device>& device) {
    Node node = special_file("group");
    node.device = device;
    node.open = [&host, device](pid_t pid) {
        if (device->gone) {
            return ENODEV;
        }
        if (device->holders.group_busy()) {
            host.count("open.group.busy", device.get());
            return EBUSY;
        }
        ++device->holders.group_opens;
        ++device->holders.pids[pid];
        host.opened(*device);
        return 0;
    };
    node.release = [&host, device](pid_t pid) {
        close_one(device->holders, device->holders.group_opens, pid);
        host.closed(device);
    };
    return node;
}

Node cdev_node(Host& host, const std::shared_ptr<Device>& device) {
    Node node = special_file("cdev");
    node.device = device;
    node.open = [&host, device](pid_t pid) {
        if (device->gone) {
            return ENODEV;
        }
        ++device->holders.cdev_opens;
        ++device->holders.pids[pid];
        host.opened(*device);
        return 0;
    };
    node.release = [&host, device](pid_t pid) {
        close_one(device->holders, device->holders.cdev_opens, pid);
        host.closed(device);
    };
    return node;
}

std::optional<Node> find_cdev(Host& host, std::string_view name) {
    constexpr std::string_view prefix = "vfio";
    const auto number =
        name.starts_with(prefix) ? whole_number(name.substr(prefix.size())) : std::nullopt;
    const auto& devices = host.inventory.vfios();
    const auto found = number ? devices.find(*number) : devices.end();
    return found == devices.end() ? std::nullopt : std::optional(cdev_node(host, found->second));
}

Node cdevs_directory(Host& host) {
    return directory([&host](const std::string& name) { return find_cdev(host, name); },
                     [&host]() -> Names {
                         std::vector<std::string> names;
                         for (const auto& [number, device] : host.inventory.vfios()) {
                             names.push_back(fmt::format("vfio{}", number));
                         }
                         return names;
                     });
}

std::optional<Node> find_in_vfio(Host& host, const std::string& name) {
    if (name == "vfio") {
        return special_file("container");
    }
    if (name == "devices") {
        return host.settings.iommufd ? std::optional(cdevs_directory(host)) : std::nullopt;
    }
    const auto number = whole_number(name);
    const auto& groups = host.inventory.groups();
    const auto found = number ? groups.find(*number) : groups.end();
    if (found == groups.end() || found->second->vfio < 0) {
        return std::nullopt;
    }
    return group_node(host, found->second);
}

Names list_vfio(Host& host) {
    std::vector<std::string> names{"vfio"};
    if (host.settings.iommufd) {
        names.emplace_back("devices");
    }
    for (const auto& [number, device] : host.inventory.groups()) {
        if (device->vfio >= 0) {
            names.push_back(fmt::format("{}", number));
        }
    }
    return names;
}

} // namespace

Node dev_tree(Host& host) {
    return fixed_directory(
        {{"vfio", [&host] {
              Node node =
                  directory([&host](const std::string& name) { return find_in_vfio(host, name); },
                            [&host] { return list_vfio(host); });
              node.mode = 0755;
              return node;
          }}});
}

} // namespace vgpu::simulator
