#include "tests/simulator/parse.hpp"
#include "tests/simulator/paths.hpp"
#include "tests/simulator/trees.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

namespace vgpu::simulator {

namespace {

/// A directory of links to the devices of a map, as bus and class directories are.
template <typename Map>
Node links_directory(const Map& devices, std::string directory_path) {
    return directory(
        [&devices, directory_path](const std::string& name) -> std::optional<Node> {
            const auto found = devices.find(name);
            if (found == devices.end()) {
                return std::nullopt;
            }
            return labelled(link(relative_link(directory_path, found->second->path)),
                            directory_path);
        },
        [&devices]() -> Names { return keys(devices); });
}

std::shared_ptr<PciFunction> function_named(Host& host, std::string_view name) {
    const auto found = host.inventory.functions().find(name);
    return found == host.inventory.functions().end() ? nullptr : found->second;
}

/// A busy device blocks this write in a real kernel, unkillably; here it is refused.
int unbind_function(Host& host, const std::string& driver, std::string_view text) {
    const auto function = function_named(host, trimmed(text));
    if (!function || function->driver != driver) {
        return ENODEV;
    }
    host.count("unbinds", function.get());
    return function->holders.held() ? EBUSY : host.inventory.unbind(function) ? 0 : ENODEV;
}

/// vfio-pci cannot take a VF of the vendor framework: its probe fails with EINVAL.
int bind_function(Host& host, const std::string& driver, std::string_view text) {
    const auto function = function_named(host, trimmed(text));
    if (!function) {
        return ENODEV;
    }
    if (std::dynamic_pointer_cast<Vf>(function) && driver == "vfio-pci") {
        return EINVAL;
    }
    host.count("binds", function.get());
    return host.inventory.bind(function, driver) ? 0 : EBUSY;
}

Node driver_directory(Host& host, const std::string& driver) {
    const auto path = "bus/pci/drivers/" + driver;
    const auto bind = [&host, driver] {
        return trigger([&host, driver](Call&, std::string_view text) {
            return bind_function(host, driver, text);
        });
    };
    const auto unbind = [&host, driver] {
        return trigger([&host, driver](Call&, std::string_view text) {
            return unbind_function(host, driver, text);
        });
    };
    return directory(
        [&host, driver, path, bind, unbind](const std::string& name) -> std::optional<Node> {
            if (name == "bind" || name == "unbind") {
                return name == "bind" ? bind() : unbind();
            }
            const auto function = function_named(host, name);
            if (!function || function->driver != driver) {
                return std::nullopt;
            }
            return labelled(link(relative_link(path, function->path)), path);
        },
        [&host, driver]() -> Names {
            std::vector<std::string> names{"bind", "unbind"};
            for (const auto& [name, function] : host.inventory.functions()) {
                if (function->driver == driver) {
                    names.push_back(name);
                }
            }
            return names;
        });
}

/// The mdev parents; the class exists only while there is one.
Node mdev_bus_directory(Host& host) {
    return directory(
        [&host](const std::string& name) -> std::optional<Node> {
            const auto function = function_named(host, name);
            if (!function || !Inventory::is_mdev_parent(*function)) {
                return std::nullopt;
            }
            return labelled(link(relative_link("class/mdev_bus", function->path)),
                            "class/mdev_bus");
        },
        [&host]() -> Names {
            std::vector<std::string> names;
            for (const auto& [name, function] : host.inventory.functions()) {
                if (Inventory::is_mdev_parent(*function)) {
                    names.push_back(name);
                }
            }
            return names;
        });
}

bool has_mdev_framework(const Host& host) {
    return std::ranges::any_of(host.inventory.gpus(), [](const auto& entry) {
        const auto framework = entry.second->framework;
        return framework == Framework::mdev || framework == Framework::mdev_pf;
    });
}

Node group_directory(const std::shared_ptr<Device>& device) {
    const auto path = fmt::format("kernel/iommu_groups/{}/devices", device->group);
    return fixed_directory({{"devices",
                             [device, path] {
                                 return fixed_directory(
                                     {{device->name, [device, path] {
                                           return link(relative_link(path, device->path));
                                       }}});
                             }},
                            {"type", [] { return text_file("DMA-FQ\n"); }}});
}

Node iommu_groups_directory(Host& host) {
    return directory(
        [&host](const std::string& name) -> std::optional<Node> {
            int number = 0;
            const auto* end = name.data() + name.size();
            const auto found = std::from_chars(name.data(), end, number).ptr == end
                                   ? host.inventory.groups().find(number)
                                   : host.inventory.groups().end();
            return found == host.inventory.groups().end()
                       ? std::nullopt
                       : std::optional(group_directory(found->second));
        },
        [&host]() -> Names {
            std::vector<std::string> names;
            for (const auto& [number, device] : host.inventory.groups()) {
                names.push_back(fmt::format("{}", number));
            }
            return names;
        });
}

/// "devices" and what lies between it and the functions.
Node devices_directory(Host& host, const std::string& path) {
    return directory(
        [&host, path](const std::string& name) -> std::optional<Node> {
            const auto* names = host.inventory.children(path);
            if (names == nullptr || !names->contains(name)) {
                return std::nullopt;
            }
            const auto below = path + "/" + name;
            const auto function = function_named(host, name);
            return function && function->path == below ? function_directory(host, function)
                                                       : devices_directory(host, below);
        },
        [&host, path]() -> Names {
            const auto* names = host.inventory.children(path);
            return names == nullptr ? std::vector<std::string>()
                                    : std::vector<std::string>(names->begin(), names->end());
        });
}

Node pci_bus(Host& host) {
    const auto drivers = [&host] {
        return fixed_directory(
            {{"nvidia", [&host] { return driver_directory(host, "nvidia"); }},
             {"vfio-pci", [&host] { return driver_directory(host, "vfio-pci"); }},
             {"pcieport", [&host] { return driver_directory(host, "pcieport"); }}});
    };
    return fixed_directory(
        {{"devices",
          [&host] { return links_directory(host.inventory.functions(), "bus/pci/devices"); }},
         {"drivers", drivers}});
}

Node mdev_bus(Host& host) {
    const auto drivers = [&host] {
        return fixed_directory({{"nvidia-vgpu-vfio", [&host] {
                                     return links_directory(host.inventory.mdevs(),
                                                            "bus/mdev/drivers/nvidia-vgpu-vfio");
                                 }}});
    };
    return fixed_directory(
        {{"devices",
          [&host] { return links_directory(host.inventory.mdevs(), "bus/mdev/devices"); }},
         {"drivers", drivers}});
}

Node modules_directory(Host& host) {
    return fixed_directory(
        {{"nvidia",
          [&host] {
              return fixed_directory(
                  {{"version", [&host] { return text_file(host.settings.driver_version + "\n"); }},
                   {"initstate", [] { return text_file("live\n"); }}});
          }},
         {"vfio", [] { return fixed_directory({}); }},
         {"vfio_pci", [] { return fixed_directory({}); }}});
}

Node class_directory(Host& host) {
    const auto iommu = [] {
        return fixed_directory({{"dmar0", [] { return fixed_directory({}); }}});
    };
    std::vector<std::pair<std::string, std::function<Node()>>> entries{{"iommu", iommu}};
    if (has_mdev_framework(host)) {
        entries.emplace_back("mdev_bus", [&host] { return mdev_bus_directory(host); });
    }
    return fixed_directory(std::move(entries));
}

} // namespace

Node sys_tree(Host& host) {
    const auto bus = [&host] {
        std::vector<std::pair<std::string, std::function<Node()>>> entries{
            {"pci", [&host] { return pci_bus(host); }}};
        if (has_mdev_framework(host)) {
            entries.emplace_back("mdev", [&host] { return mdev_bus(host); });
        }
        return fixed_directory(std::move(entries));
    };
    const auto kernel = [&host] {
        return fixed_directory(
            {{"iommu_groups", [&host] { return iommu_groups_directory(host); }}});
    };
    return fixed_directory({{"bus", bus},
                            {"class", [&host] { return class_directory(host); }},
                            {"devices", [&host] { return devices_directory(host, "devices"); }},
                            {"kernel", kernel},
                            {"module", [&host] { return modules_directory(host); }}});
}

} // namespace vgpu::simulator
