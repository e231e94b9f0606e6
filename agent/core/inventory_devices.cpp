#include "agent/core/inventory_devices.hpp"

#include "agent/core/device_release.hpp"
#include "agent/core/mdev.hpp"
#include "agent/core/profile_name.hpp"
#include "agent/core/topology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

namespace vgpu {

namespace {

void add_error(DeviceInfo& row, const std::string& text) {
    row.error += (row.error.empty() ? "" : "; ") + text;
}

std::optional<std::uint32_t> number_at_start(std::string_view text) {
    std::uint32_t value = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
    return parsed.ec == std::errc() ? std::optional(value) : std::nullopt;
}

/// "max_instance=16" in a type's description: how many of it a GPU takes.
std::uint32_t most_instances(std::string_view description) {
    constexpr std::string_view key = "max_instance=";
    const std::size_t at = description.find(key);
    return at == std::string_view::npos
               ? 0
               : number_at_start(description.substr(at + key.size())).value_or(0);
}

/// What one directory below mdev_supported_types says. `name` and `description` are optional in the
/// kernel's interface.
Result<std::optional<OfferedType>> mdev_type(Sysfs& sysfs, const std::string& directory,
                                             const std::string& name) {
    const std::size_t dash = name.rfind('-');
    const auto id = dash == std::string::npos
                        ? std::nullopt
                        : number_at_start(std::string_view(name).substr(dash + 1));
    if (!id) {
        return std::optional<OfferedType>();
    }
    const std::string path = directory + "/" + name;
    VGPU_TRY_ASSIGN(const std::string available, sysfs.read(path + "/available_instances"));
    const auto title = sysfs.read(path + "/name");
    const auto description = sysfs.read(path + "/description");
    OfferedType offered;
    offered.type = {*id, title && !title->empty() ? *title : name};
    offered.instances = number_at_start(available).value_or(0);
    if (description) {
        offered.framebuffer_mib = description_framebuffer_mib(*description);
        offered.most = most_instances(*description);
    }
    if (offered.framebuffer_mib == 0) {
        offered.framebuffer_mib = framebuffer_mib(offered.type.name);
    }
    return std::optional(std::move(offered));
}

void add_mdev_offers(const Host& host, DeviceInfo& row) {
    const std::string directory = pci_path(row.function) + "/mdev_supported_types";
    const auto names = host.sysfs.list(directory);
    if (!names) {
        add_error(row, names.error().text());
        return;
    }
    for (const std::string& name : *names) {
        auto offered = mdev_type(host.sysfs, directory, name);
        if (!offered) {
            add_error(row, offered.error().text());
        } else if (*offered) {
            row.offers.push_back(std::move(**offered));
        }
    }
}

void add_vendor_offers(const Host& host, DeviceInfo& row) {
    const auto types = host.framework(FrameworkKind::vendor_vfio)->creatable(row.function);
    if (!types) {
        add_error(row, types.error().text());
        return;
    }
    for (const VgpuType& type : *types) {
        row.offers.push_back({type, framebuffer_mib(type.name), 1, 0});
    }
}

void add_claim(const Surroundings& around, DeviceInfo& row) {
    const auto found = around.claims.find(row.key());
    if (found == around.claims.end()) {
        return;
    }
    row.claim = found->second;
    row.claim_over = row.claim->claim && is_over(around.host, *row.claim->claim);
}

/// Type and nodes of the device that the row stands for.
void add_state(const Surroundings& around, DeviceInfo& row) {
    const auto framework = around.host.framework(*row.framework);
    const auto type = framework->type(row.key());
    if (type) {
        row.type_id = *type;
    } else {
        add_error(row, type.error().text());
    }
    auto nodes = framework->nodes(row.key());
    if (nodes) {
        row.nodes = std::move(*nodes);
    } else {
        add_error(row, nodes.error().text());
    }
}

DeviceInfo base_row(const Host& host, const PciAddress& function, const PciAddress& gpu) {
    DeviceInfo row;
    row.function = function;
    row.gpu = gpu;
    row.managed = host.config.manages(gpu, function);
    row.numa_node = numa_node_of(host.sysfs, function);
    if (row.numa_node < 0 && function != gpu) {
        row.numa_node = numa_node_of(host.sysfs, gpu); // VFs of a card on a known node may say -1
    }
    const auto driver = driver_of(host.sysfs, function);
    if (driver) {
        row.driver = *driver;
    } else {
        add_error(row, driver.error().text());
    }
    return row;
}

/// The mdevs of a parent: those that exist, and those that are claimed and not there.
std::vector<Uuid> mdevs_on(const Surroundings& around, const PciAddress& parent) {
    std::vector<Uuid> mdevs;
    if (const auto found = around.mdevs.find(parent); found != around.mdevs.end()) {
        mdevs = found->second;
    }
    for (const auto& [key, stored] : around.claims) {
        if (key.is_mdev() && stored.claim && stored.claim->parent == parent &&
            std::find(mdevs.begin(), mdevs.end(), key.mdev()) == mdevs.end()) {
            mdevs.push_back(key.mdev());
        }
    }
    return mdevs;
}

std::vector<DeviceInfo> mdev_rows(const Surroundings& around, DeviceInfo parent) {
    add_mdev_offers(around.host, parent);
    std::vector<DeviceInfo> rows;
    for (const Uuid& mdev : mdevs_on(around, parent.function)) {
        DeviceInfo row = parent;
        row.mdev = mdev;
        add_state(around, row);
        add_claim(around, row);
        rows.push_back(std::move(row));
    }
    const bool more = std::any_of(parent.offers.begin(), parent.offers.end(),
                                  [](const OfferedType& offered) { return offered.instances > 0; });
    if (rows.empty() || (parent.function == parent.gpu && more)) {
        parent.type_id = 0;
        parent.in_use = false;
        rows.push_back(std::move(parent));
    }
    return rows;
}

void add_mdevs(const Host& host, Surroundings& around, Inventory& inventory) {
    const auto names = host.sysfs.list("bus/mdev/devices");
    if (!names) {
        if (names.error().code() != ErrorCode::not_found) {
            inventory.problems.push_back(names.error().text());
        }
        return;
    }
    Mdev mdev(host.sysfs, host.config);
    for (const std::string& name : *names) {
        const auto uuid = Uuid::parse(name);
        const auto parent = uuid ? mdev.parent(*uuid) : fail(uuid.error());
        if (!parent) {
            inventory.problems.push_back(parent.error().text());
        } else if (*parent) {
            around.mdevs[**parent].push_back(*uuid);
        }
    }
}

} // namespace

Surroundings look_around(const Host& host, Inventory& inventory) {
    Surroundings around{host, {}, {}};
    auto claims = host.claims.list();
    if (claims) {
        for (const StoredClaim& stored : *claims) {
            around.claims.emplace(stored.key, stored);
        }
        inventory.claims = std::move(*claims);
    } else {
        inventory.problems.push_back(claims.error().text());
    }
    add_mdevs(host, around, inventory);
    return around;
}

std::vector<DeviceInfo> rows_of(const Surroundings& around, const PciAddress& function,
                                const PciAddress& gpu) {
    const auto framework = framework_of(around.host.sysfs, function);
    if (function == gpu && framework != FrameworkKind::mdev) {
        return {};
    }
    DeviceInfo row = base_row(around.host, function, gpu);
    if (!framework) {
        add_error(row, framework.error().text());
    } else {
        row.framework = *framework;
    }
    if (row.framework == FrameworkKind::mdev) {
        return mdev_rows(around, std::move(row));
    }
    if (row.framework == FrameworkKind::vendor_vfio) {
        add_state(around, row);
        add_vendor_offers(around.host, row);
    } else if (row.error.empty()) {
        add_error(row, fmt::format("offers no vGPU (bound driver: {})",
                                   row.driver.empty() ? "none" : row.driver));
    }
    add_claim(around, row);
    return {std::move(row)};
}

} // namespace vgpu
