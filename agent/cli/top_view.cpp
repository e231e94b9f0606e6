#include "agent/cli/top_view.hpp"

#include "agent/cli/table.hpp"
#include "agent/cli/tables.hpp"
#include "agent/core/profile_name.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <vector>

namespace vgpu::cli {

namespace {

using Align = Table::Align;

std::uint32_t mib_of(const Json& object, const char* name) {
    constexpr std::int64_t largest = std::numeric_limits<std::uint32_t>::max();
    return static_cast<std::uint32_t>(
        std::clamp<std::int64_t>(number_member(object, name), 0, largest));
}

/// "[####------]", or blanks when the size is not known.
std::string bar(std::uint32_t used, std::uint32_t size) {
    constexpr std::uint64_t width = 20;
    if (size == 0) {
        return "";
    }
    const auto filled = static_cast<std::size_t>(std::min(width, (used * width + size - 1) / size));
    return fmt::format("[{}{}]", std::string(filled, '#'), std::string(width - filled, '-'));
}

std::string used_text(std::uint32_t used, std::uint32_t size) {
    return used == 0 ? "0 of " + size_text(size)
                     : fmt::format("{} of {}", size_text(used), size_text(size));
}

std::string gpus_part(const TopAnswers& answers, bool colour) {
    std::map<std::string, std::uint32_t> claimed;
    for (const Json& gpu : list_member(answers.resources, "gpus")) {
        claimed[text_member(gpu, "gpu")] = mib_of(gpu, "framebuffer_claimed_mib");
    }
    Table table({{"GPU"},
                 {"NAME"},
                 {"VFS", Align::right},
                 {"VGPUS", Align::right},
                 {"FRAMEBUFFER", Align::right},
                 {""}});
    for (const Json& gpu : answers.gpus) {
        const std::string address = text_member(gpu, "gpu");
        const std::uint32_t size = mib_of(gpu, "framebuffer_mib");
        const auto used = claimed.find(address);
        const bool managed = used != claimed.end();
        const bool full = managed && size != 0 && used->second >= size;
        table.add({{cell_text(address)},
                   {cell_text(text_member(gpu, "name"))},
                   {fmt::format("{}", number_member(gpu, "vfs"))},
                   {fmt::format("{}", number_member(gpu, "allocated"))},
                   {managed ? used_text(used->second, size) : "not managed"},
                   {managed ? bar(used->second, size) : "", full ? Tone::warning : Tone::good}});
    }
    return table.text(colour);
}

Tone tone_of(const std::string& state) {
    if (state == "free" || state == "configured") {
        return Tone::good;
    }
    return state == "unreadable" || state == "unusable" ? Tone::bad
           : state == "unmanaged"                       ? Tone::plain
                                                        : Tone::warning;
}

/// What it carries; in brackets what it is to carry, or carried.
std::string profile_of(const Json& device) {
    const std::int64_t type = number_member(device, "type_id");
    const std::string profile = text_member(device, "profile");
    if (type != 0) {
        return profile.empty() ? fmt::format("type {}", type) : profile;
    }
    const std::string claimed = text_member(member(device, "claim"), "profile");
    return claimed.empty() ? "" : "(" + claimed + ")";
}

std::vector<Cell> device_row(const Json& device) {
    const Json& claim = member(device, "claim");
    const Json& holder = member(device, "holder");
    const std::string state = device_state(device);
    std::string profile = text_member(device, "profile");
    if (profile.empty()) {
        profile = text_member(claim, "profile");
    }
    const std::string mdev = text_member(device, "mdev_uuid");
    return {{cell_text(mdev.empty() ? text_member(device, "device") : mdev)},
            {cell_text(text_member(device, "gpu"))},
            {cell_text(state), tone_of(state)},
            {cell_text(profile_of(device))},
            {profile.empty() ? "-" : size_text(framebuffer_mib(profile))},
            {cell_text(text_member(member(claim, "domain"), "name"))},
            {holder.is_object() ? fmt::format("{} ({})", cell_text(text_member(holder, "name")),
                                              number_member(holder, "pid"))
                                : "-"}};
}

/// `rows`: lines that there is room for, the title included.
std::string devices_part(const Json& devices, std::size_t rows, bool colour) {
    Table table({{"DEVICE"},
                 {"GPU"},
                 {"STATE"},
                 {"PROFILE"},
                 {"FRAMEBUFFER", Align::right},
                 {"DOMAIN"},
                 {"HELD OPEN BY"}});
    std::vector<const Json*> sorted;
    for (const Json& device : devices) {
        sorted.push_back(&device);
    }
    std::stable_partition(sorted.begin(), sorted.end(),
                          [](const Json* device) { return device_state(*device) != "free"; });
    constexpr std::size_t besides = 2; // the title, and the line on what is left out
    const bool cut = sorted.size() + 1 > rows;
    const std::size_t shown = cut ? std::max(rows, besides) - besides : sorted.size();
    for (std::size_t i = 0; i < shown; ++i) {
        table.add(device_row(*sorted[i]));
    }
    return table.text(colour) +
           (cut ? fmt::format("and {} more\n", sorted.size() - shown) : std::string());
}

std::string headline(const TopAnswers& answers) {
    const auto in_use =
        std::count_if(answers.devices.begin(), answers.devices.end(),
                      [](const Json& device) { return flag_member(device, "allocated"); });
    const Json& libvirt = member(answers.host, "libvirt");
    return fmt::format(
        "virt-vgpu top: {}, {} of {} devices in use, libvirt {}\n",
        cell_text(text_member(answers.host, "hostname")), in_use, answers.devices.size(),
        flag_member(libvirt, "up") ? cell_text(text_member(libvirt, "version")) : "is away");
}

/// What the daemon is in trouble with.
std::string troubles(const TopAnswers& answers) {
    std::string text;
    const Json& libvirt = member(answers.host, "libvirt");
    const Json& reconcile = member(answers.host, "reconcile");
    const std::pair<const char*, std::string> found[] = {
        {"libvirt", text_member(libvirt, "trouble")},
        {"reconcile", text_member(reconcile, "last_error")}};
    for (const auto& [what, trouble] : found) {
        text += trouble.empty() ? "" : fmt::format("{}: {}\n", what, cell_text(trouble));
    }
    return text;
}

} // namespace

Result<TopAnswers> ask_top(const DaemonClient& daemon) {
    TopAnswers answers;
    const std::pair<const char*, Json TopAnswers::*> questions[] = {
        {"/v1/host", &TopAnswers::host},
        {"/v1/gpus", &TopAnswers::gpus},
        {"/v1/resources", &TopAnswers::resources},
        {"/v1/devices", &TopAnswers::devices}};
    for (const auto& [target, place] : questions) {
        VGPU_TRY_ASSIGN(DaemonClient::Answer answer, daemon.get(target));
        answers.*place = std::move(answer.body);
    }
    if (!answers.gpus.is_array() || !answers.devices.is_array()) {
        return fail(ErrorCode::io, "virt-vgpud answered something else than lists of GPUs and "
                                   "devices");
    }
    return answers;
}

std::string device_state(const Json& device) {
    const Json& claim = member(device, "claim");
    const bool has_framework = member(device, "framework").is_string();
    if (member(claim, "error").is_string()) {
        return "unreadable";
    }
    if (!text_member(device, "error").empty() &&
        (!has_framework || !member(device, "type_id").is_number())) {
        return has_framework ? "unreadable" : "unusable";
    }
    if (flag_member(device, "foreign")) {
        return "foreign";
    }
    if (claim.is_object()) {
        return text_member(claim, "state");
    }
    if (flag_member(device, "dirty")) {
        return "dirty";
    }
    if (!flag_member(device, "managed")) {
        return "unmanaged";
    }
    return flag_member(device, "in_use") ? "in-use" : "free";
}

std::string top_text(const TopAnswers& answers, const std::string& note, std::size_t rows,
                     bool colour) {
    std::string text = headline(answers) + troubles(answers);
    text += note.empty() ? "" : toned(cell_text(note), Tone::bad, colour) + "\n";
    text += "\n" + gpus_part(answers, colour) + "\n";
    const auto used = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
    const std::size_t left =
        rows == 0 ? std::numeric_limits<std::size_t>::max() : std::max(rows, used) - used;
    return text + devices_part(answers.devices, left, colour);
}

} // namespace vgpu::cli
