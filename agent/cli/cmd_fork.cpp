#include "agent/cli/instance_action.hpp"

#include <fmt/format.h>

#include <memory>
#include <vector>

namespace vgpu::cli {

namespace {

constexpr const char* details =
    R"(Defines a new domain that asks for the vGPUs that INSTANCE asks for, on devices of its own, with a UUID
and MAC addresses of its own. Disks are not copied: each one that the guest can write to is given a
file, which must be there, with --disk OLD=NEW; --share-disks keeps the rest, which corrupts them if
both domains run. Asks virt-vgpud.)";

struct ForkOptions {
    std::string source;
    std::string name;
    std::string uuid;
    std::vector<std::string> disks;
    bool share_disks = false;
    bool start = false;
};

/// Where "OLD=NEW", two absolute paths, is to be parted: a path may have '=' in it.
std::size_t parting(const std::string& text) {
    return text.starts_with('/') ? text.find("=/") : std::string::npos;
}

CLI::Validator disk_pair() {
    return CLI::Validator(
        [](const std::string& text) {
            return parting(text) == std::string::npos
                       ? "give two absolute paths, OLD=NEW, and not " + printable(text)
                       : std::string();
        },
        "OLD=NEW", "OLD=NEW");
}

ChangeRequest action_of(const ForkOptions& options) {
    Json body;
    body["name"] = options.name;
    if (!options.uuid.empty()) {
        body["uuid"] = options.uuid;
    }
    for (const std::string& disk : options.disks) {
        const std::size_t at = parting(disk);
        body["disks"][disk.substr(0, at)] = disk.substr(at + 1);
    }
    if (options.share_disks) {
        body["share_disks"] = true;
    }
    if (options.start) {
        body["start"] = true;
    }
    ChangeRequest action;
    action.request.method = "POST";
    action.request.target = instance_target(options.source, "fork");
    action.request.body = body.dump(-1, ' ', true, Json::error_handler_t::replace);
    action.doing = fmt::format("forking {} as {}", options.source, options.name);
    action.command = fmt::format("fork {} {}", options.source, options.name);
    action.again = fmt::format("`virt-vgpu instance {}` says whether it was made; repeating the "
                               "command is safe: a name that is taken is refused",
                               options.name);
    return action;
}

} // namespace

void add_fork(CLI::App& app, Program& program) {
    CLI::App* command =
        add_command(app, program, "fork", "Define a copy of a domain on vGPUs of its own", details);
    const auto options = std::make_shared<ForkOptions>();
    add_instance_argument(*command, options->source);
    add_name_argument(*command, "NEW", options->name)->required();
    command
        ->add_option("--disk", options->disks,
                     "The new domain has the disk NEW where the source has OLD; can be repeated")
        ->check(disk_pair())
        ->allow_extra_args(false);
    command->add_flag("--share-disks", options->share_disks,
                      "Keep disks for which no --disk is given");
    command->add_flag("--start", options->start, "Start it");
    command->add_option("--uuid", options->uuid, "UUID of the new domain")->check(uuid_argument());
    command->callback([&program, options] {
        program.run = [&program, options] {
            return act_on_instance(program.options, action_of(*options));
        };
    });
}

} // namespace vgpu::cli
