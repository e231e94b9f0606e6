#include "tests/simulator/command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <type_traits>

namespace vgpu::simulator {

namespace {

using Pairs = std::map<std::string, std::string>;

/// Takes a pair out of the map, so that what is left at the end is unknown.
std::optional<std::string> take(Pairs& pairs, const std::string& key) {
    auto node = pairs.extract(key);
    return node.empty() ? std::nullopt : std::optional(std::move(node.mapped()));
}

template <typename Number>
Done take_number(Pairs& pairs, const std::string& key, Number& value) {
    const auto text = take(pairs, key);
    if (!text) {
        return ok();
    }
    const bool negative = text->starts_with('-');
    const auto number = parse_number(std::string_view(*text).substr(negative ? 1 : 0));
    constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<Number>::max());
    if (!number || *number > most || (negative && !std::is_signed_v<Number>)) {
        return refused(fmt::format("{} is no number: '{}'", key, *text));
    }
    value = static_cast<Number>(negative ? 0 - *number : *number);
    return ok();
}

Done take_flag(Pairs& pairs, const std::string& key, bool& value) {
    const auto text = take(pairs, key);
    if (text && *text != "on" && *text != "off") {
        return refused(fmt::format("{} is on or off, not '{}'", key, *text));
    }
    value = text ? *text == "on" : value;
    return ok();
}

tl::expected<Framework, std::string> framework_named(const std::string& name) {
    static const std::map<std::string, Framework> names{{"vendor-vfio", Framework::vendor_vfio},
                                                        {"mdev", Framework::mdev},
                                                        {"mdev-pf", Framework::mdev_pf},
                                                        {"none", Framework::none}};
    const auto found = names.find(name);
    if (found == names.end()) {
        return refused(
            fmt::format("framework is vendor-vfio, mdev, mdev-pf or none, not '{}'", name));
    }
    return found->second;
}

Done take_framework(Pairs& pairs, Framework& framework) {
    if (const auto text = take(pairs, "framework")) {
        SIMULATOR_TRY(framework, framework_named(*text));
    }
    return ok();
}

Done framework(Host& host, Arguments& a) {
    SIMULATOR_TRY(const auto name, a.next("PF"));
    SIMULATOR_TRY(const auto word, a.next("FRAMEWORK"));
    SIMULATOR_CHECK(a.end());
    SIMULATOR_TRY(const auto gpu, gpu_named(host, name));
    SIMULATOR_TRY(const auto wanted, framework_named(word));
    return host.inventory.set_framework(gpu, wanted);
}

Done nothing_left(const Pairs& pairs) {
    return pairs.empty() ? ok() : refused(fmt::format("unknown key '{}'", pairs.begin()->first));
}

tl::expected<std::shared_ptr<Board>, std::string> board_named(const Host& host,
                                                              const std::string& name) {
    const auto found = host.boards.find(name);
    if (found == host.boards.end()) {
        std::string known;
        for (const auto& [key, board] : host.boards) {
            known += (known.empty() ? "" : ", ") + key;
        }
        return refused(fmt::format("there is no model '{}', only {}", name, known));
    }
    return found->second;
}

Done board(Host& host, Arguments& a) {
    SIMULATOR_TRY(const auto key, a.next("the model's name"));
    SIMULATOR_TRY(auto pairs, a.pairs());
    auto made = std::make_shared<Board>();
    made->name = "NVIDIA " + key;
    made->framebuffer_mib = 49152;
    if (const auto like = take(pairs, "like")) {
        SIMULATOR_TRY(const auto original, board_named(host, *like));
        *made = *original;
    }
    if (auto name = take(pairs, "name")) {
        made->name = *std::move(name);
    }
    SIMULATOR_CHECK(take_number(pairs, "device", made->device_id));
    SIMULATOR_CHECK(take_number(pairs, "subsystem", made->subsystem_id));
    SIMULATOR_CHECK(take_number(pairs, "framebuffer", made->framebuffer_mib));
    SIMULATOR_CHECK(take_number(pairs, "first-vf", made->first_vf));
    SIMULATOR_CHECK(take_number(pairs, "total-vfs", made->total_vfs));
    SIMULATOR_CHECK(take_number(pairs, "max-vgpus", made->max_vgpus));
    SIMULATOR_CHECK(take_number(pairs, "slices", made->slices));
    SIMULATOR_CHECK(take_framework(pairs, made->framework));
    SIMULATOR_CHECK(nothing_left(pairs));
    if (!host.boards.emplace(key, std::move(made)).second) {
        return refused(fmt::format("there is a model '{}' already", key));
    }
    return ok();
}

Done board_type(Host& host, Arguments& a) {
    SIMULATOR_TRY(const auto key, a.next("MODEL"));
    SIMULATOR_TRY(const auto board, board_named(host, key));
    SIMULATOR_TRY(const auto id, a.number("ID"));
    SIMULATOR_TRY(const auto size, a.number("MIB"));
    SIMULATOR_TRY(auto name, a.next("NAME"));
    SIMULATOR_TRY(const auto slices, a.count(0));
    SIMULATOR_CHECK(a.end());
    if (size == 0 || board->find(static_cast<std::uint32_t>(id)) != nullptr) {
        return refused("MIB must not be 0, and ID must be new");
    }
    board->types.push_back({static_cast<std::uint32_t>(id), std::move(name),
                            static_cast<std::uint32_t>(size), static_cast<std::uint32_t>(slices)});
    for (const auto& [address, gpu] : host.inventory.gpus()) {
        gpu->catalogue.reset();
    }
    return ok();
}

/// What the pairs say about the VFs, and how many there are when they do not.
Done take_vfs(Pairs& pairs, GpuRequest& request) {
    const auto most = request.framework == Framework::mdev_pf ? 0 : request.board->total_vfs;
    request.vfs = request.driver == "nvidia" ? std::min(request.vfs, most) : 0;
    request.first_vf = request.board->first_vf;
    SIMULATOR_CHECK(take_number(pairs, "first-vf", request.first_vf));
    SIMULATOR_CHECK(take_number(pairs, "vfs", request.vfs));
    request.total_vfs = request.vfs > 0 ? request.vfs : most;
    SIMULATOR_CHECK(take_number(pairs, "total-vfs", request.total_vfs));
    SIMULATOR_CHECK(take_number(pairs, "numa", request.numa_node));
    request.vf_numa_node = request.numa_node;
    return take_number(pairs, "vf-numa", request.vf_numa_node);
}

Done gpu(Host& host, Arguments& a) {
    SIMULATOR_TRY(const auto name, a.next("ADDRESS"));
    SIMULATOR_TRY(auto pairs, a.pairs());
    const auto address = Address::parse(name);
    if (!address) {
        return refused(fmt::format("'{}' is no PCI address", name));
    }
    GpuRequest request;
    request.address = *address;
    request.model = take(pairs, "model").value_or("L40S");
    SIMULATOR_TRY(request.board, board_named(host, request.model));
    request.framework = request.board->framework;
    request.framebuffer_mib = request.board->framebuffer_mib;
    request.max_vgpus = request.board->max_vgpus;
    const auto driver = take(pairs, "driver").value_or("nvidia");
    request.driver = driver == "none" ? "" : driver;
    SIMULATOR_CHECK(take_framework(pairs, request.framework));
    SIMULATOR_CHECK(take_vfs(pairs, request));
    SIMULATOR_CHECK(take_number(pairs, "framebuffer", request.framebuffer_mib));
    SIMULATOR_CHECK(take_number(pairs, "max-vgpus", request.max_vgpus));
    SIMULATOR_CHECK(take_flag(pairs, "mixed", request.mixed));
    SIMULATOR_CHECK(take_flag(pairs, "mig", request.mig));
    const auto format = take(pairs, "catalogue").value_or("F1");
    request.catalogue_has_header = format == "F1";
    SIMULATOR_CHECK(nothing_left(pairs));
    if (format != "F1" && format != "F2") {
        return refused(fmt::format("catalogue is F1 or F2, not '{}'", format));
    }
    return host.inventory.add_gpu(request);
}

Done gpu_remove(Host& host, Arguments& a) {
    SIMULATOR_TRY(const auto name, a.next("PF"));
    SIMULATOR_CHECK(a.end());
    return host.inventory.remove_gpu(name);
}

Done other(Host& host, Arguments& a) {
    SIMULATOR_TRY(const auto name, a.next("ADDRESS"));
    SIMULATOR_TRY(auto pairs, a.pairs());
    const auto address = Address::parse(name);
    if (!address) {
        return refused(fmt::format("'{}' is no PCI address", name));
    }
    PciIds ids{.vendor = 0x8086, .device = 0x1572, .subsystem = 0, .class_code = 0x020000};
    SIMULATOR_CHECK(take_number(pairs, "vendor", ids.vendor));
    SIMULATOR_CHECK(take_number(pairs, "device", ids.device));
    SIMULATOR_CHECK(take_number(pairs, "class", ids.class_code));
    const auto driver = take(pairs, "driver").value_or("");
    SIMULATOR_CHECK(nothing_left(pairs));
    return host.inventory.add_other(*address, ids, driver);
}

template <bool Settings::* flag>
Done set_flag(Host& host, Arguments& a) {
    SIMULATOR_TRY(const auto on, a.on_off("the switch"));
    SIMULATOR_CHECK(a.end());
    host.settings.*flag = on;
    return ok();
}

template <std::string Settings::* text>
Done set_text(Host& host, Arguments& a) {
    SIMULATOR_TRY(auto value, a.next("the text"));
    SIMULATOR_CHECK(a.end());
    host.settings.*text = std::move(value);
    return ok();
}

Done shuffle(Host& host, Arguments& a) {
    SIMULATOR_TRY(const auto seed, a.number("SEED"));
    SIMULATOR_CHECK(a.end());
    host.settings.shuffle = seed;
    return ok();
}

Done self_removal(Host& host, Arguments& a) {
    SIMULATOR_TRY(const auto milliseconds, a.number("MS"));
    SIMULATOR_CHECK(a.end());
    host.settings.self_removal_ms = static_cast<unsigned>(milliseconds);
    return ok();
}

Done counters_reset(Host& host, Arguments& a) {
    SIMULATOR_CHECK(a.end());
    host.counters.clear();
    for (const auto& [name, function] : host.inventory.functions()) {
        function->counters.clear();
    }
    for (const auto& [uuid, mdev] : host.inventory.mdevs()) {
        mdev->counters.clear();
    }
    return ok();
}

} // namespace

std::vector<Command> host_commands() {
    return {
        {"board",
         "MODEL [like=MODEL] [name=TEXT] [device=ID] [subsystem=ID] [framebuffer=MIB] [first-vf=N] "
         "[total-vfs=N] [max-vgpus=N] [slices=N] [framework=vendor-vfio|mdev|mdev-pf|none]",
         board},
        {"board-type", "MODEL ID MIB NAME [SLICES]", board_type},
        {"gpu",
         "ADDRESS [model=L40S] [vfs=8] [total-vfs=N] [first-vf=N] "
         "[framework=vendor-vfio|mdev|mdev-pf|none] "
         "[catalogue=F1|F2] [framebuffer=MIB] [max-vgpus=N] [mixed=on|off] [mig=on|off] [numa=N] "
         "[vf-numa=N] [driver=nvidia|vfio-pci|none]",
         gpu},
        {"gpu-remove", "PF", gpu_remove},
        {"framework", "PF vendor-vfio|mdev|mdev-pf|none", framework},
        {"other", "ADDRESS [vendor=ID] [device=ID] [class=ID] [driver=NAME]", other},
        {"driver", "VERSION", set_text<&Settings::driver_version>},
        {"kernel", "RELEASE", set_text<&Settings::kernel_release>},
        {"iommufd", "on|off", set_flag<&Settings::iommufd>},
        {"strict", "on|off", set_flag<&Settings::strict>},
        {"shuffle", "SEED", shuffle},
        {"self-removal", "MS", self_removal},
        {"counters-reset", "", counters_reset},
    };
}

} // namespace vgpu::simulator
