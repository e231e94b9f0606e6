#include "agent/core/config.hpp"

#include "agent/core/file_io.hpp"

#include <fmt/format.h>

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>
#include <string_view>
#include <utility>

namespace vgpu {

namespace {

constexpr std::size_t largest_file = std::size_t{1024} * 1024;

bool contains(const std::vector<PciAddress>& addresses, const PciAddress& address) {
    return std::find(addresses.begin(), addresses.end(), address) != addresses.end();
}

/// True if there is something at `path`, be it a link that leads nowhere: somebody meant a file.
bool is_there(const std::string& path) {
    struct stat status{};
    return ::lstat(path.c_str(), &status) == 0;
}

std::string quoted(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
            fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned char>(c));
        } else {
            out += c;
        }
    }
    return out + '"';
}

std::string quoted(const std::vector<PciAddress>& addresses) {
    std::string out = "[";
    for (const PciAddress& address : addresses) {
        out += (out.size() > 1 ? ", " : "") + quoted(address.to_string());
    }
    return out + ']';
}

/// In the largest unit that says it exactly; a negative one is "auto".
std::string quoted(std::chrono::milliseconds duration) {
    constexpr std::array<std::pair<int, std::string_view>, 3> units{
        {{3600000, "h"}, {60000, "m"}, {1000, "s"}}};
    if (duration.count() < 0) {
        return "\"auto\"";
    }
    for (const auto& [milliseconds, unit] : units) {
        if (duration.count() > 0 && duration.count() % milliseconds == 0) {
            return fmt::format("\"{}{}\"", duration.count() / milliseconds, unit);
        }
    }
    return fmt::format("\"{}{}\"", duration.count(), duration.count() == 0 ? "s" : "ms");
}

} // namespace

bool Config::manages(const PciAddress& gpu, const PciAddress& function) const {
    const bool given = gpus.all_managed || contains(gpus.managed, gpu);
    return given && !contains(gpus.ignored, gpu) && !contains(gpus.ignored, function);
}

std::string config_path() {
    const char* named = std::getenv("VIRT_VGPU_CONFIG");
    return named != nullptr && *named != '\0' ? named : default_config_path;
}

Result<Config> load_config(const std::string& path, bool must_exist) {
    const auto text = read_small_file(path, largest_file);
    if (text) {
        return parse_config(*text, path);
    }
    const Error& error = text.error();
    if (error.code() == ErrorCode::not_found && !must_exist && !is_there(path)) {
        return Config();
    }
    if (error.code() == ErrorCode::corrupt) {
        return fail(ErrorCode::invalid, error.text());
    }
    return fail(error);
}

std::string to_toml(const Config& config) {
    const Config::Paths& paths = config.paths;
    std::string out;
    const auto line = [&out](std::string_view key, const std::string& value) {
        fmt::format_to(std::back_inserter(out), "{} = {}\n", key, value);
    };
    out += "[paths]\n";
    line("sysfs", quoted(paths.sysfs));
    line("proc", quoted(paths.proc));
    line("dev", quoted(paths.dev));
    line("libvirt_run", quoted(paths.libvirt_run));
    line("state", quoted(paths.state));
    line("runtime", quoted(paths.runtime));
    out += "\n[gpus]\n";
    line("managed", config.gpus.all_managed ? "[\"*\"]" : quoted(config.gpus.managed));
    line("ignored", quoted(config.gpus.ignored));
    out += "\n[hook]\n";
    line("deadline", quoted(config.hook.deadline));
    line("release_budget", quoted(config.hook.release_budget));
    out += "\n[mdev]\n";
    line("self_removal", quoted(config.mdev.self_removal));
    out += "\n[libvirt]\n";
    line("uri", quoted(config.libvirt.uri));
    line("rebind", config.libvirt.rebind ? "true" : "false");
    out += "\n[api]\n";
    line("group", quoted(std::string_view(config.api.group)));
    out += "\n[reconcile]\n";
    line("interval", quoted(config.reconcile.interval));
    return out;
}

} // namespace vgpu
