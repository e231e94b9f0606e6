#include "agent/cli/command.hpp"
#include "agent/cli/output.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <unistd.h>

namespace vgpu::cli {

namespace {

constexpr const char* details = R"(A mistake is named with its line.)";

using Json = nlohmann::ordered_json;

Json addresses(const std::vector<PciAddress>& list) {
    Json json = Json::array();
    for (const PciAddress& address : list) {
        json.push_back(address.to_string());
    }
    return json;
}

std::string config_json(const std::string& file, bool is_there, const Config& config) {
    Json json;
    json["file"] = file;
    json["is_there"] = is_there;
    json["paths"] = {{"sysfs", config.paths.sysfs}, {"proc", config.paths.proc},
                     {"dev", config.paths.dev},     {"libvirt_run", config.paths.libvirt_run},
                     {"state", config.paths.state}, {"runtime", config.paths.runtime}};
    json["gpus"] = {
        {"managed", config.gpus.all_managed ? Json::array({"*"}) : addresses(config.gpus.managed)},
        {"ignored", addresses(config.gpus.ignored)}};
    json["hook"] = {{"deadline_ms", config.hook.deadline.count()},
                    {"release_budget_ms", config.hook.release_budget.count()}};
    const auto self_removal = config.mdev.self_removal.count();
    json["mdev"] = {{"self_removal_ms", self_removal < 0 ? Json("auto") : Json(self_removal)}};
    json["libvirt"] = {{"uri", config.libvirt.uri}, {"rebind", config.libvirt.rebind}};
    json["reconcile"] = {{"interval_ms", config.reconcile.interval.count()}};
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

int check_config(const CommonOptions& options) {
    const auto config = configuration(options);
    if (!config) {
        return report(config.error());
    }
    const std::string file = options.config.empty() ? config_path() : options.config;
    const bool is_there = ::access(file.c_str(), F_OK) == 0;
    if (options.json) {
        return print(config_json(file, is_there, *config));
    }
    return print(fmt::format("# {}\n{}",
                             is_there ? file + ": understood; with the defaults it means:"
                                      : "there is no " + file + ": these are the defaults",
                             to_toml(*config)));
}

} // namespace

void add_config(CLI::App& app, Program& program) {
    CLI::App* config = app.add_subcommand("config", "Work with the configuration");
    CLI::App* command =
        add_command(*config, program, "check",
                    "Read the configuration and print it with all defaults", details);
    command->callback(
        [&program] { program.run = [&program] { return check_config(program.options); }; });
}

} // namespace vgpu::cli
