#include "tests/simulator/vendor_vfio.hpp"

#include "tests/simulator/parse.hpp"

#include <fmt/format.h>

#include <cerrno>

namespace vgpu::simulator {

namespace {

constexpr std::size_t params_max = 1024;

struct VfFile {
    Host& host;
    std::shared_ptr<Vf> vf;
};

std::string rows(const Gpu& gpu) {
    std::string text = gpu.catalogue_has_header ? "ID    : vGPU Name\n" : "";
    for (const auto& type : gpu.board->types) {
        if (gpu.capacity->available(type) == 0) {
            continue;
        }
        text += gpu.catalogue_has_header ? fmt::format("{:<5} : {}\n", type.id, type.name)
                                         : fmt::format("{:<24} {}\n", type.name, type.id);
    }
    return text;
}

Text read_creatable(const Vf& vf) {
    const auto gpu = vf.gpu.lock();
    if (vf.vgpu.type != nullptr) {
        return gpu->catalogue_has_header ? "ID    : vGPU Name\n" : "";
    }
    if (!gpu->catalogue) {
        gpu->catalogue = rows(*gpu);
    }
    return *gpu->catalogue;
}

Text read_type(Vf& vf) {
    auto& lie = vf.faults.lie;
    if (lie.reads > 0) {
        lie.reads -= lie.reads == Fault::always ? 0 : 1;
        return fmt::format("{}\n", lie.value);
    }
    return fmt::format("{}\n", vf.vgpu.id());
}

void clear_type(Vf& vf) {
    if (vf.vgpu.type != nullptr) {
        const auto gpu = vf.gpu.lock();
        gpu->capacity->give_back(*vf.vgpu.type, vf.vgpu.placement);
        gpu->catalogue.reset();
    }
    vf.vgpu = {};
}

/// A refused type also costs the VF the one it had.
int set_type(Vf& vf, std::uint32_t id) {
    const auto gpu = vf.gpu.lock();
    const bool typed = vf.vgpu.type != nullptr;
    clear_type(vf);
    if (vf.broken || (gpu->capacity->mig() && gpu->capacity->instances() == 0)) {
        return EIO;
    }
    const auto* type = gpu->board->find(id);
    const auto placement =
        typed || type == nullptr ? std::optional<Placement>() : gpu->capacity->take(*type);
    if (!placement) {
        return EINVAL;
    }
    vf.vgpu = {.type = type, .placement = *placement, .params = {}};
    gpu->catalogue.reset();
    return 0;
}

int reset_type(Host& host, Vf& vf) {
    const auto& closed = vf.holders.closed_at;
    if (closed && Clock::now() < *closed + std::chrono::milliseconds(vf.faults.settle_ms)) {
        return EPERM;
    }
    if (vf.faults.ignore_resets > 0) {
        vf.faults.ignore_resets -= vf.faults.ignore_resets == Fault::always ? 0 : 1;
        host.count("resets_ignored", &vf);
        return 0;
    }
    clear_type(vf);
    host.count("resets", &vf);
    return 0;
}

int write_type(Host& host, Call& call, Vf& vf, std::string_view text) {
    const auto id = kernel_number(text);
    if (!id) {
        return id.error();
    }
    if (const int error = stall(host, call, vf)) {
        return error;
    }
    if (vf.holders.held()) {
        host.count("writes_while_open", &vf);
        if (host.settings.strict) {
            return EBUSY;
        }
    }
    if (vf.faults.stale_reads > 0) {
        vf.faults.lie = {vf.vgpu.id(), std::exchange(vf.faults.stale_reads, 0)};
    }
    if (*id == 0) {
        return reset_type(host, vf);
    }
    const int error = set_type(vf, *id);
    if (error == 0) {
        host.count("types_set", &vf);
    }
    return error;
}

int write_params(Host& host, Call& call, Vf& vf, std::string_view text) {
    if (const int error = stall(host, call, vf)) {
        return error;
    }
    if (text.size() >= params_max || vf.vgpu.type == nullptr) {
        return EINVAL;
    }
    if (vf.holders.held()) {
        return EBUSY;
    }
    vf.vgpu.params = trimmed(text);
    return 0;
}

/// A file of the VF; ENODEV once the VF is gone, as for an attribute that was removed while open.
Node attribute(const VfFile& f, Text (*read)(Vf&)) {
    return file(
        [vf = f.vf, read]() -> Text { return vf->gone ? Text(tl::unexpect, ENODEV) : read(*vf); });
}

Node attribute(const VfFile& f, Text (*read)(Vf&),
               int (*write)(Host&, Call&, Vf&, std::string_view)) {
    Node node = attribute(f, read);
    node.mode = 0644;
    node.write = [&host = f.host, vf = f.vf, write](Call& call, std::string_view text) {
        return vf->gone ? ENODEV : write(host, call, *vf, text);
    };
    return node;
}

Text number_of_vgpu(const Vf& vf, std::optional<std::uint32_t> number) {
    return vf.vgpu.type == nullptr || !number ? Text(tl::unexpect, ENXIO)
                                              : Text(fmt::format("{}\n", *number));
}

constexpr Entry<VfFile> entries[] = {
    {"creatable_vgpu_types", [](const VfFile&) { return true; },
     [](const VfFile& f) { return attribute(f, [](Vf& vf) { return read_creatable(vf); }); }},
    {"current_vgpu_type", [](const VfFile&) { return true; },
     [](const VfFile& f) { return attribute(f, read_type, write_type); }},
    {"gpu_instance_id", [](const VfFile&) { return true; },
     [](const VfFile& f) {
         return attribute(f, [](Vf& vf) { return number_of_vgpu(vf, vf.vgpu.placement.instance); });
     }},
    {"placement_id", [](const VfFile&) { return true; },
     [](const VfFile& f) {
         return attribute(f, [](Vf& vf) { return number_of_vgpu(vf, vf.vgpu.placement.id); });
     }},
    {"vgpu_params", [](const VfFile&) { return true; },
     [](const VfFile& f) {
         return attribute(f, [](Vf& vf) { return Text(vf.vgpu.params + "\n"); }, write_params);
     }},
    {"warm_update", [](const VfFile&) { return true; },
     [](const VfFile& f) {
         Node node = attribute(
             f, [](Vf&) { return Text("0\n"); },
             [](Host&, Call&, Vf&, std::string_view) { return EPERM; });
         return node;
     }},
};

} // namespace

Node nvidia_directory(Host& host, const std::shared_ptr<Vf>& vf) {
    const VfFile f{host, vf};
    return directory([f](const std::string& name) { return find_entry(entries, f, name); },
                     [f]() -> Names {
                         std::vector<std::string> names;
                         list_entries(entries, f, names);
                         return names;
                     });
}

void force_type(Vf& vf, const VgpuType* type) {
    clear_type(vf);
    if (type != nullptr) {
        const auto gpu = vf.gpu.lock();
        vf.vgpu = {.type = type, .placement = gpu->capacity->force(*type), .params = {}};
        gpu->catalogue.reset();
    }
}

} // namespace vgpu::simulator
