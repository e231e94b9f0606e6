#include "agent/cli/command.hpp"
#include "agent/cli/output.hpp"
#include "agent/cli/release.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <memory>

namespace vgpu::cli {

namespace {

constexpr const char* details =
    R"(Needed only where the hook could not finish. Without --force it ends what is known to be over:
claims that are draining, of another boot, or whose recorded VMM is dead; and it cleans a managed
device that carries a type without a claim. A device that somebody has open is never touched.)";

struct ReleaseOptions {
    std::string device;
    bool force = false;
};

std::string report_json(const DeviceKey& key, const ReleaseReport& done, bool force) {
    nlohmann::ordered_json json;
    json["device"] = key.device();
    json["effect"] = to_string(done.effect);
    json["forced"] = force;
    json["domain"] = nullptr;
    json["profile"] = nullptr;
    if (done.claim) {
        json["domain"] = {{"uuid", done.claim->domain_uuid.to_string()},
                          {"name", done.claim->domain_name}};
        json["profile"] = done.claim->profile;
    }
    return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string report_text(const DeviceKey& key, const ReleaseReport& done) {
    const std::string owner =
        done.claim ? fmt::format(" (it was claimed by domain {})", done.claim->owner()) : "";
    switch (done.effect) {
    case ReleaseEffect::nothing:
        return fmt::format("{} is free and clean: nothing to do\n", key.device());
    case ReleaseEffect::reset:
        return fmt::format("{} is wiped and free{}\n", key.device(), owner);
    case ReleaseEffect::forgotten:
        break;
    }
    return fmt::format("the claim on {} is removed, the device was not touched{}\n", key.device(),
                       owner);
}

int release(const CommonOptions& common, const ReleaseOptions& options) {
    const auto session = open_session(common, HostSession::Purpose::change);
    if (!session) {
        return report(session.error());
    }
    const auto key = DeviceKey::parse_device(options.device);
    if (!key) {
        return report(key.error());
    }
    if (options.force) {
        warn(fmt::format("--force: {} is released without proof that its domain is over; a domain "
                         "that is just starting on it will fail",
                         key->device()));
    }
    const auto done = release_device((*session)->host(), *key, options.force,
                                     Deadline::in(std::chrono::seconds(20)));
    if (!done) {
        return report(done.error());
    }
    return print(common.json ? report_json(*key, *done, options.force) : report_text(*key, *done));
}

} // namespace

void add_release(CLI::App& app, Program& program) {
    CLI::App* command =
        add_command(app, program, "release",
                    "Free a device by hand: reset it, prove it, remove its claim", details);
    const auto options = std::make_shared<ReleaseOptions>();
    command
        ->add_option("DEVICE", options->device,
                     "Address of a VF (0000:41:00.4), UUID of an mdev, or the name of a claim file")
        ->required()
        ->check(device_argument());
    command->add_flag(
        "--force", options->force,
        "Also end a claim that nothing proves to be over, or that cannot be read; still "
        "never a device that is held open");
    command->callback([&program, options] {
        program.run = [&program, options] { return release(program.options, *options); };
    });
}

} // namespace vgpu::cli
