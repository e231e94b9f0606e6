#include "agent/cli/instance_text.hpp"

#include "agent/cli/table.hpp"

#include <fmt/format.h>

#include <map>
#include <vector>

namespace vgpu::cli {

namespace {

Cell state_cell(const Json& instance) {
    const std::string state = text_member(instance, "state");
    return {cell_text(state), state == "running"                        ? Tone::good
                              : state == "crashed" || state == "paused" ? Tone::warning
                                                                        : Tone::plain};
}

/// The device's own name: the last part of its path.
std::string device_of(const Json& gpu) {
    const std::string path = text_member(gpu, "device_path");
    return cell_text(path.substr(path.rfind('/') + 1));
}

/// "2x NVIDIA L40S-4Q, NVIDIA L40S-8Q"
std::string profiles_of(const Json& instance) {
    std::map<std::string, int> counts;
    for (const Json& gpu : list_member(instance, "gpus")) {
        ++counts[text_member(gpu, "profile")];
    }
    std::vector<std::string> texts;
    for (const auto& [profile, count] : counts) {
        texts.push_back(count > 1 ? fmt::format("{}x {}", count, cell_text(profile))
                                  : cell_text(profile));
    }
    return texts.empty() ? "-" : fmt::format("{}", fmt::join(texts, ", "));
}

std::string devices_of(const Json& instance) {
    std::vector<std::string> texts;
    for (const Json& gpu : list_member(instance, "gpus")) {
        texts.push_back(device_of(gpu));
    }
    return texts.empty() ? "-" : fmt::format("{}", fmt::join(texts, ", "));
}

std::string gpus_text(const Json& gpus, bool colour) {
    if (gpus.empty()) {
        return "It asks for no vGPU.\n";
    }
    Table table({{"VGPU"}, {"PROFILE"}, {"DEVICE"}, {"GPU"}, {"FRAMEWORK"}, {"CLAIM"}});
    for (const Json& gpu : gpus) {
        table.add({{cell_text(text_member(gpu, "name"))},
                   {cell_text(text_member(gpu, "profile"))},
                   {device_of(gpu)},
                   {cell_text(text_member(gpu, "gpu"))},
                   {cell_text(text_member(gpu, "framework"))},
                   {cell_text(text_member(gpu, "claim"))}});
    }
    return table.text(colour);
}

} // namespace

std::string instance_text(const Json& instance, bool colour) {
    const Cell state = state_cell(instance);
    return fmt::format("{} ({}): {}{}\n{}", cell_text(text_member(instance, "name")),
                       cell_text(text_member(instance, "uuid")),
                       toned(state.text, state.tone, colour),
                       flag_member(instance, "persistent") ? "" : ", transient",
                       gpus_text(list_member(instance, "gpus"), colour));
}

std::string instances_text(const Json& instances, bool colour) {
    if (!instances.is_array() || instances.empty()) {
        return "No domain asks for a vGPU.\n";
    }
    Table table({{"NAME"}, {"STATE"}, {"PROFILES"}, {"DEVICES"}, {"UUID"}});
    for (const Json& instance : instances) {
        table.add({{cell_text(text_member(instance, "name"))},
                   state_cell(instance),
                   {profiles_of(instance)},
                   {devices_of(instance)},
                   {cell_text(text_member(instance, "uuid"))}});
    }
    return table.text(colour);
}

std::string instance_names(const Json& instances) {
    std::string text;
    for (const Json& instance : instances) {
        const std::string name = text_member(instance, "name");
        if (!name.empty() && printable(name, name.size()) == name) {
            text += name + "\n";
        }
    }
    return text;
}

} // namespace vgpu::cli
