#include "agent/cli/tables.hpp"

#include "agent/cli/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace vgpu::cli {

namespace {

using Align = Table::Align;

Tone tone_of_state(std::string_view state) {
    if (state == "free") {
        return Tone::good;
    }
    if (state == "unreadable" || state == "unusable") {
        return Tone::bad;
    }
    return state == "draining" || state == "dirty" || state == "in-use" ? Tone::warning
                                                                        : Tone::plain;
}

std::string yes_no(bool value) {
    return value ? "yes" : "no";
}

std::string numa_text(int node) {
    return node < 0 ? "-" : fmt::format("{}", node);
}

std::string type_text(const DeviceInfo& device) {
    if (!device.type_id) {
        return device.framework ? "?" : "-";
    }
    if (*device.type_id != 0) {
        return device.profile.empty() ? fmt::format("type {}", *device.type_id)
                                      : cell_text(device.profile);
    }
    // Claimed, and not yet, or no longer, carrying its type.
    const bool claimed = device.claim && device.claim->claim;
    return claimed && !device.claim->claim->profile.empty()
               ? "(" + cell_text(device.claim->claim->profile) + ")"
               : "-";
}

std::string domain_text(const DeviceInfo& device) {
    if (!device.claim) {
        return "-";
    }
    return device.claim->claim ? cell_text(device.claim->claim->domain_name) : "?";
}

std::string use_text(const DeviceInfo& device) {
    if (device.holder) {
        return cell_text(device.holder->to_string());
    }
    if (!device.framework) {
        return "-";
    }
    return device.in_use ? "no" : "?";
}

void add_lines(std::string& text, const std::vector<std::string>& lines) {
    text += lines.empty() ? "" : "\n";
    for (const std::string& line : lines) {
        text += cell_text(line) + "\n";
    }
}

Cell vmm_cell(const Claim& claim, const Host& host) {
    if (!claim.vmm) {
        return {"-", Tone::plain};
    }
    if (host.of_another_boot(claim)) {
        return {"dead", Tone::warning};
    }
    const auto started = host.proc.start_time(claim.vmm->pid);
    if (!started) {
        return {"?", Tone::warning};
    }
    const bool alive = *started && **started == claim.vmm->start_time;
    return alive ? Cell{fmt::format("alive ({})", claim.vmm->pid), Tone::good}
                 : Cell{"dead", Tone::warning};
}

} // namespace

std::string_view state_word(const DeviceInfo& device) {
    if (device.claim && !device.claim->claim) {
        return "unreadable";
    }
    if (!device.error.empty() && (!device.framework || !device.type_id)) {
        return device.framework ? "unreadable" : "unusable";
    }
    if (device.foreign()) {
        return "foreign";
    }
    if (device.claim) {
        return to_string(device.claim->claim->state);
    }
    if (device.dirty()) {
        return "dirty";
    }
    if (!device.managed) {
        return "unmanaged";
    }
    return device.in_use.value_or(false) ? "in-use" : "free";
}

std::string size_text(std::uint32_t mib) {
    if (mib == 0) {
        return "?";
    }
    return mib % 1024 == 0 ? fmt::format("{} GiB", mib / 1024) : fmt::format("{} MiB", mib);
}

std::string gpus_text(const Inventory& inventory, bool colour) {
    if (inventory.gpus.empty()) {
        return "No NVIDIA GPU on this host.\n";
    }
    Table table({{"GPU"},
                 {"NAME"},
                 {"FRAMEWORK"},
                 {"DRIVER"},
                 {"VFS", Align::right},
                 {"VGPUS", Align::right},
                 {"MEMORY", Align::right},
                 {"NUMA", Align::right},
                 {"MANAGED"}});
    std::vector<std::string> lines;
    for (const GpuInfo& gpu : inventory.gpus) {
        table.add({{gpu.address.to_string()},
                   {cell_text(gpu.name)},
                   gpu.framework ? Cell{std::string(to_string(*gpu.framework))}
                                 : Cell{"none", Tone::warning},
                   {cell_text(gpu.driver)},
                   {gpu.total_vfs > 0 ? fmt::format("{}/{}", gpu.vfs, gpu.total_vfs) : "-"},
                   {fmt::format("{}", gpu.allocated)},
                   {size_text(gpu.framebuffer_mib)},
                   {numa_text(gpu.numa_node)},
                   {yes_no(gpu.managed)}});
        if (!gpu.reason.empty()) {
            lines.push_back(fmt::format("{}: {}", gpu.address.to_string(), gpu.reason));
        }
    }
    std::string text = table.text(colour);
    add_lines(text, lines);
    return text;
}

std::string devices_text(const Inventory& inventory, bool colour) {
    if (inventory.devices.empty()) {
        return "No device that could carry a vGPU; `virt-vgpu doctor` says why.\n";
    }
    const bool mdevs =
        std::any_of(inventory.devices.begin(), inventory.devices.end(),
                    [](const DeviceInfo& device) { return device.mdev.has_value(); });
    std::vector<Table::Column> columns{
        {"DEVICE"},  {"GPU"},    {"FRAMEWORK"}, {"STATE"},
        {"PROFILE"}, {"DOMAIN"}, {"IN USE"},    {"NUMA", Align::right}};
    if (mdevs) {
        columns.push_back({"MDEV"});
    }
    Table table(std::move(columns));
    std::vector<std::string> lines;
    for (const DeviceInfo& device : inventory.devices) {
        const std::string_view state = state_word(device);
        table.add({{device.function.to_string()},
                   {device.gpu.to_string()},
                   {device.framework ? std::string(to_string(*device.framework)) : "none"},
                   {std::string(state), tone_of_state(state)},
                   {type_text(device)},
                   {domain_text(device)},
                   {use_text(device)},
                   {numa_text(device.numa_node)},
                   {device.mdev ? device.mdev->to_string() : "-"}});
        if (!device.error.empty()) {
            lines.push_back(fmt::format("{}: {}", device.key().device(), device.error));
        }
        if (device.claim && !device.claim->claim) {
            lines.push_back(
                fmt::format("{}: {}", device.key().device(), device.claim->claim.error().text()));
        }
    }
    std::string text = table.text(colour);
    add_lines(text, lines);
    return text;
}

std::string profiles_text(const std::vector<ProfileInfo>& profiles, bool colour) {
    if (profiles.empty()) {
        return "No profile is known; `virt-vgpu doctor` says why.\n";
    }
    Table table({{"PROFILE"},
                 {"TYPE", Align::right},
                 {"MEMORY", Align::right},
                 {"AVAILABLE", Align::right}});
    for (const ProfileInfo& profile : profiles) {
        table.add({{cell_text(profile.type.name)},
                   {fmt::format("{}", profile.type.id)},
                   {size_text(profile.framebuffer_mib)},
                   {fmt::format("{}", profile.available),
                    profile.available > 0 ? Tone::good : Tone::plain}});
    }
    return table.text(colour);
}

std::string claims_text(const std::vector<StoredClaim>& claims, const Host& host, bool colour) {
    if (claims.empty()) {
        return "No claims.\n";
    }
    Table table({{"DEVICE"}, {"DOMAIN"}, {"PROFILE"}, {"STATE"}, {"SINCE"}, {"VMM"}});
    std::vector<std::string> lines;
    for (const StoredClaim& stored : claims) {
        if (!stored.claim) {
            table.add(
                {{stored.key.device()}, {"?"}, {"?"}, {"unreadable", Tone::bad}, {"?"}, {"?"}});
            lines.push_back(
                fmt::format("{}: {}", stored.key.device(), stored.claim.error().text()));
            continue;
        }
        const Claim& claim = *stored.claim;
        const std::string_view state = to_string(claim.state);
        table.add({{stored.key.device()},
                   {cell_text(claim.domain_name)},
                   {claim.managed ? cell_text(claim.profile) : "(foreign)"},
                   {std::string(state), tone_of_state(state)},
                   {cell_text(claim.claimed_at)},
                   vmm_cell(claim, host)});
    }
    std::string text = table.text(colour);
    add_lines(text, lines);
    return text;
}

} // namespace vgpu::cli
