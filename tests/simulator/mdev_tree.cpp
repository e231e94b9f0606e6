#include "tests/simulator/mdev.hpp"
#include "tests/simulator/parse.hpp"
#include "tests/simulator/paths.hpp"
#include "tests/simulator/trees.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <charconv>

namespace vgpu::simulator {

namespace {

struct TypeDirectory {
    Host& host;
    std::shared_ptr<PciFunction> parent;
    const VgpuType* type;
    std::string path;
};

bool always(const TypeDirectory&) {
    return true;
}

/// What a display of the type's series can show, as the driver describes it.
std::string_view display(const VgpuType& type) {
    const auto digits = type.name.find_last_of("0123456789", type.name.find_last_of("ABCQ"));
    const char series = digits + 1 < type.name.size() ? type.name[digits + 1] : 'Q';
    if (series == 'A') {
        return "num_heads=1, frl_config=60, framebuffer={}M, max_resolution=1280x1024, "
               "max_instance={}\n";
    }
    if (series == 'B') {
        return "num_heads=4, frl_config=45, framebuffer={}M, max_resolution=5120x2880, "
               "max_instance={}\n";
    }
    return "num_heads=4, frl_config=60, framebuffer={}M, max_resolution=7680x4320, "
           "max_instance={}\n";
}

std::string description(const Gpu& gpu, const VgpuType& type) {
    return fmt::format(fmt::runtime(display(type)), type.framebuffer_mib,
                       std::min(gpu.framebuffer_mib / type.framebuffer_mib, gpu.max_vgpus));
}

std::uint32_t available(const PciFunction& parent, const Gpu& gpu, const VgpuType& type) {
    const bool is_vf = dynamic_cast<const Vf*>(&parent) != nullptr;
    if (is_vf && !parent.mdevs.empty()) {
        return 0;
    }
    const auto count = gpu.capacity->available(type);
    return is_vf ? std::min(count, 1U) : count;
}

Node instances_directory(const TypeDirectory& here) {
    return directory(
        [here](const std::string& uuid) -> std::optional<Node> {
            const auto found = here.parent->mdevs.find(uuid);
            if (found == here.parent->mdevs.end() || found->second->vgpu.type != here.type) {
                return std::nullopt;
            }
            return link(relative_link(here.path + "/devices", found->second->path));
        },
        [here]() -> Names {
            std::vector<std::string> names;
            for (const auto& [uuid, mdev] : here.parent->mdevs) {
                if (mdev->vgpu.type == here.type) {
                    names.push_back(uuid);
                }
            }
            return names;
        });
}

constexpr Entry<TypeDirectory> type_entries[] = {
    {"name", always, [](const TypeDirectory& h) { return text_file(h.type->name + "\n"); }},
    {"description", always,
     [](const TypeDirectory& h) { return text_file(description(*gpu_of(h.parent), *h.type)); }},
    {"device_api", always, [](const TypeDirectory&) { return text_file("vfio-pci\n"); }},
    {"available_instances", always,
     [](const TypeDirectory& h) {
         return file([h]() -> Text {
             return fmt::format("{}\n", available(*h.parent, *gpu_of(h.parent), *h.type));
         });
     }},
    {"create", always,
     [](const TypeDirectory& h) {
         return trigger([h](Call& call, std::string_view text) {
             return create_mdev(h.host, call, h.parent, h.type->id, text);
         });
     }},
    {"devices", always, instances_directory},
};

std::optional<Node> find_type(Host& host, const std::shared_ptr<PciFunction>& parent,
                              const std::string& name) {
    constexpr std::string_view prefix = "nvidia-";
    std::uint32_t id = 0;
    const auto* end = name.data() + name.size();
    if (!name.starts_with(prefix) ||
        std::from_chars(name.data() + prefix.size(), end, id).ptr != end) {
        return std::nullopt;
    }
    const auto* type = gpu_of(parent)->board->find(id);
    if (type == nullptr) {
        return std::nullopt;
    }
    const TypeDirectory here{host, parent, type, parent->path + "/mdev_supported_types/" + name};
    return directory(
        [here](const std::string& entry) { return find_entry(type_entries, here, entry); },
        [here]() -> Names {
            std::vector<std::string> names;
            list_entries(type_entries, here, names);
            return names;
        });
}

/// The driver's own directory in an mdev.
Node mdev_nvidia_directory(const std::shared_ptr<Mdev>& mdev) {
    const auto params = [mdev] {
        return writable([mdev]() -> Text { return mdev->vgpu.params + "\n"; },
                        [mdev](Call&, std::string_view text) {
                            if (mdev->gone) {
                                return ENODEV;
                            }
                            if (mdev->holders.held()) {
                                return EBUSY;
                            }
                            mdev->vgpu.params = trimmed(text);
                            return 0;
                        });
    };
    const auto placement = [mdev] {
        return writable(
            [mdev]() -> Text {
                return mdev->holders.opened_ever ? fmt::format("{}\n", mdev->vgpu.placement.id)
                                                 : "Not Applicable\n";
            },
            [mdev](Call&, std::string_view text) {
                const auto id = kernel_number(text);
                return mdev->holders.opened_ever ? EBUSY : id ? 0 : id.error();
            });
    };
    return fixed_directory({{"vgpu_params", params}, {"placement_id", placement}});
}

} // namespace

Node mdev_types_directory(Host& host, const std::shared_ptr<PciFunction>& parent) {
    return directory(
        [&host, parent](const std::string& name) { return find_type(host, parent, name); },
        [parent]() -> Names {
            std::vector<std::string> names;
            for (const auto& type : gpu_of(parent)->board->types) {
                names.push_back(fmt::format("nvidia-{}", type.id));
            }
            return names;
        });
}

Node mdev_directory(Host& host, const std::shared_ptr<Mdev>& mdev) {
    const auto path_of_type = [mdev] {
        return fmt::format("../mdev_supported_types/nvidia-{}", mdev->vgpu.id());
    };
    Node node = fixed_directory({
        {"mdev_type", [path_of_type] { return link(path_of_type()); }},
        {"remove",
         [&host, mdev] {
             return trigger([&host, mdev](Call& call, std::string_view text) {
                 return mdev->gone ? ENODEV : remove_mdev(host, call, mdev, text);
             });
         }},
        {"iommu_group", [mdev] { return iommu_group_link(*mdev); }},
        {"driver",
         [mdev] { return link(relative_link(mdev->path, "bus/mdev/drivers/nvidia-vgpu-vfio")); }},
        {"subsystem", [mdev] { return link(relative_link(mdev->path, "bus/mdev")); }},
        {"vfio-dev", [mdev] { return vfio_dev_directory(mdev); }},
        {"nvidia", [mdev] { return mdev_nvidia_directory(mdev); }},
    });
    node.device = mdev;
    node.mode = 0755;
    return labelled(std::move(node), "device");
}

} // namespace vgpu::simulator
