#include "agent/assignment/assign.hpp"
#include "agent/assignment/definition.hpp"
#include "agent/cli/assign_report.hpp"
#include "agent/cli/command.hpp"
#include "agent/cli/output.hpp"
#include "agent/hypervisor/libvirt_hypervisor.hpp"

#include <fmt/format.h>

#include <chrono>
#include <memory>

namespace vgpu::cli {

namespace {

constexpr const char* assign_details =
    R"(Writes the request and a free device into the persistent definition of the domain; libvirt's hook
claims and configures the device when the domain starts. The device is chosen on the GPU with the
least claimed framebuffer, among managed ones that are free, named by no other domain, and on which
the profile can be created now. What a request already says and the command does not name stays, and
so does a device that is good. Without --profile every request that the domain has is pointed at a
free device: this gives a clone its own.)";

constexpr const char* unassign_details =
    R"(Removes requests and devices from the persistent definition of the domain. A running domain keeps
them until it stops.)";

using std::chrono::seconds;

struct AssignOptions {
    std::string domain;
    std::string profile;
    std::string gpu;
    std::string params;
    std::string name;
};

int finish(const CommonOptions& common, const Result<DomainChange>& change) {
    if (!change) {
        return report(change.error());
    }
    for (const std::string& warning : change->warnings) {
        warn(warning);
    }
    return print(common.json ? change_json(*change) : change_text(*change));
}

Result<DomainChange> assign_domain(const CommonOptions& common, const AssignWish& wish) {
    VGPU_TRY_ASSIGN(const auto session, open_session(common, HostSession::Purpose::look));
    const Deadline deadline = Deadline::in(seconds(28));
    VGPU_TRY_ASSIGN(const FileLock lock,
                    lock_assignments(session->config().paths, deadline.within(seconds(10))));
    VGPU_TRY_ASSIGN(const auto hypervisor,
                    connect_libvirt(session->config().libvirt.uri, deadline));
    return assign(*hypervisor, [&session] { return look_with_warnings(*session); }, wish);
}

Result<DomainChange> unassign_domain(const CommonOptions& common, const AssignOptions& options) {
    VGPU_TRY_ASSIGN(const Config config, configuration(common));
    VGPU_TRY_ASSIGN(const auto hypervisor,
                    connect_libvirt(config.libvirt.uri, Deadline::in(seconds(28))));
    return unassign(*hypervisor, options.domain, options.name);
}

AssignWish wish_of(const CLI::App& command, const AssignOptions& options) {
    AssignWish wish;
    wish.domain = options.domain;
    if (command.count("--profile") > 0) {
        wish.profile = options.profile;
    }
    if (command.count("--params") > 0) {
        wish.params = options.params;
    }
    if (command.count("--name") > 0) {
        wish.name = options.name;
    }
    wish.any_gpu = options.gpu == "any";
    const auto gpu = PciAddress::parse(options.gpu);
    if (gpu) {
        wish.gpu = *gpu;
    }
    return wish;
}

CLI::Validator gpu_argument() {
    return CLI::Validator(
        [](const std::string& text) {
            const auto gpu = PciAddress::parse(text);
            return gpu || text == "any" ? std::string() : gpu.error().text();
        },
        "PF", "PF");
}

} // namespace

void add_assign(CLI::App& app, Program& program) {
    CLI::App* command = add_command(
        app, program, "assign",
        "Give a domain a vGPU: request and free device go into its definition", assign_details);
    const auto options = std::make_shared<AssignOptions>();
    add_domain_argument(*command, options->domain);
    command->add_option("--profile", options->profile,
                        "vGPU type: a name (NVIDIA L40S-4Q, l40s-4q) or a type id (1150)");
    command
        ->add_option("--gpu", options->gpu,
                     "Take it from this GPU, by PCI address; \"any\" drops such a wish")
        ->check(gpu_argument());
    command->add_option("--params", options->params,
                        "vgpu_params for the driver, e.g. frame_rate_limiter=0; \"\" drops them");
    command->add_option("--name", options->name,
                        "Name of the request, for a domain with several (default: vgpu0)");
    command->callback([&program, command, options] {
        program.run = [&program, wish = wish_of(*command, *options)] {
            return finish(program.options, assign_domain(program.options, wish));
        };
    });
}

void add_unassign(CLI::App& app, Program& program) {
    CLI::App* command = add_command(app, program, "unassign", "Take the vGPUs away from a domain",
                                    unassign_details);
    const auto options = std::make_shared<AssignOptions>();
    add_domain_argument(*command, options->domain);
    command->add_option("--name", options->name, "Only the request of this name");
    command->callback([&program, options] {
        program.run = [&program, options] {
            return finish(program.options, unassign_domain(program.options, *options));
        };
    });
}

} // namespace vgpu::cli
