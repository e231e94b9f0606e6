#include "agent/cli/create_request.hpp"
#include "agent/cli/input_file.hpp"
#include "agent/cli/instance_action.hpp"
#include "agent/cli/output.hpp"
#include "agent/http/json_body.hpp"
#include "xml/domain.hpp"
#include "xml/instance_request.hpp"

#include <fmt/format.h>

#include <memory>
#include <utility>

namespace vgpu::cli {

namespace {

constexpr const char* details =
    R"(Defines a domain that asks for vGPUs, on devices that are free, and with --start starts it; when that
first start fails the definition goes again. The same command again answers with the domain that is
there. DISK: PATH[,format=raw|qcow2][,bus=virtio|scsi|sata|usb][,readonly][,boot=N]; the format may be
left out for *.qcow2, *.raw and below /dev. NETWORK: NAME or bridge=BRIDGE, then [,mac=MAC]
[,model=MODEL][,boot=N]. A comma in a path is written twice. Asks virt-vgpud.)";

constexpr const char* again =
    "repeating the command is safe: the same request is answered with the "
    "domain that is there";

struct CreateCommand {
    CreateOptions request;
    std::string file;      ///< --file
    std::string base_file; ///< --base-xml
};

/// The whole request from a file; a NAME on the command line goes before the one in it.
Result<Json> request_from_file(const CreateCommand& command) {
    VGPU_TRY_ASSIGN(const std::string text, read_input(command.file, xml::max_request_bytes));
    auto checked = http::parse_json(text);
    if (!checked || !checked->is_object()) {
        return fail(ErrorCode::invalid,
                    fmt::format("{}: {}", printable(command.file),
                                checked ? "it is no JSON object" : checked.error().text()));
    }
    Json request = Json::parse(text, nullptr, false);
    if (!command.request.name.empty()) {
        request["name"] = command.request.name;
    }
    return request;
}

Result<Json> request_of(const CreateCommand& command) {
    if (!command.file.empty()) {
        return request_from_file(command);
    }
    CreateOptions options = command.request;
    if (!command.base_file.empty()) {
        VGPU_TRY_ASSIGN(options.base_xml, read_input(command.base_file, xml::max_domain_xml_bytes));
    }
    return create_request(options);
}

int create(const CommonOptions& common, const CreateCommand& command) {
    const auto request = request_of(command);
    if (!request) {
        return report(request.error());
    }
    const std::string name = text_member(*request, "name");
    ChangeRequest action;
    action.request.method = "POST";
    action.request.target = "/v1/instances";
    action.request.body = request->dump(-1, ' ', true, Json::error_handler_t::replace);
    action.doing = "creating " + name;
    action.command = "create " + name;
    action.again = again;
    return act_on_instance(common, std::move(action));
}

CLI::Validator parsed_argument(const char* name, Result<Json> (*parse)(const std::string&)) {
    return CLI::Validator(
        [parse](const std::string& text) {
            const auto parsed = parse(text);
            return parsed ? std::string() : parsed.error().text();
        },
        name, name);
}

void add_machine_options(CLI::App& app, CreateOptions& options) {
    app.add_option("--vcpus", options.vcpus, "Number of virtual CPUs")->type_name("N");
    app.add_option("--memory", options.memory_mib, "Memory in MiB")->type_name("MIB");
    app.add_option("--machine", options.machine, "Machine type (default: q35)");
    app.add_option("--arch", options.arch, "Architecture")
        ->check(CLI::IsMember({"x86_64", "aarch64"}));
    app.add_option("--cpu", options.cpu, "CPU model (default: host-passthrough)");
    app.add_option("--virt-type", options.virt_type, "kvm, where there is one, or qemu")
        ->check(CLI::IsMember({"kvm", "qemu"}));
    app.add_option("--firmware", options.firmware, "Firmware (default: bios)")
        ->check(CLI::IsMember({"bios", "uefi"}));
    app.add_option("--graphics", options.graphics, "A screen (default: none)")
        ->check(CLI::IsMember({"vnc", "none"}));
    app.add_flag("--no-console", options.no_console, "No serial console");
    app.add_option("--kernel", options.kernel, "Boot this kernel directly")->type_name("FILE");
    app.add_option("--initrd", options.initrd, "With this initial RAM disk")->type_name("FILE");
    app.add_option("--cmdline", options.cmdline, "And these arguments");
    app.add_option("--title", options.title, "A title of one line");
    app.add_option("--description", options.description, "A description");
    app.add_option("--uuid", options.uuid, "UUID of the domain")->check(uuid_argument());
}

void add_device_options(CLI::App& app, CreateOptions& options) {
    app.add_option("--disk", options.disks, "A disk; can be repeated")
        ->check(parsed_argument("DISK", disk_of))
        ->type_name("FILE")
        ->allow_extra_args(false);
    app.add_option("--cdrom", options.cdroms, "An ISO image in a CD-ROM drive; can be repeated")
        ->type_name("FILE")
        ->allow_extra_args(false);
    app.add_option("--cloud-init", options.cloud_init_iso, "cloud-init's ISO image")
        ->type_name("FILE");
    app.add_option("--network", options.networks, "A network card; can be repeated")
        ->check(parsed_argument("NETWORK", network_of))
        ->allow_extra_args(false);
}

void add_gpu_options(CLI::App& app, CreateOptions& options) {
    constexpr int most_gpus = 16;
    app.add_option("--profile", options.profiles,
                   "vGPU type: a name (NVIDIA L40S-4Q, l40s-4q) or a type id; can be repeated")
        ->type_name("PROFILE")
        ->check(not_empty())
        ->allow_extra_args(false);
    app.add_option("--count", options.count, "So many vGPUs of each --profile")
        ->check(CLI::Range(1, most_gpus))
        ->type_name("N");
    app.add_option("--gpu", options.gpu, "Take them from this GPU, by PCI address")
        ->check(pci_argument());
    app.add_option("--numa-node", options.numa_node, "Take them from GPUs on this NUMA node")
        ->type_name("N");
    app.add_option("--params", options.params, "vgpu_params for the driver");
    app.add_flag("--display", options.display,
                 "The guest's screen comes from the first; mdev only");
    app.add_option("--policy", options.policy, "How GPUs are chosen")
        ->check(CLI::IsMember({"spread", "pack"}));
    app.add_flag("--distinct-gpus", options.distinct_gpus, "Each vGPU on another GPU");
}

void add_sources(CLI::App& app, CreateCommand& command) {
    app.add_option("--base-xml", command.base_file,
                   "Start from this domain XML; then only name, UUID and vGPUs can be said")
        ->type_name("FILE");
    app.add_option("--file", command.file,
                   "The whole request as JSON, as the API takes it; \"-\" is standard input")
        ->type_name("FILE");
}

/// What a file says whole is said by no other option. (CLI11's excludes() would fill --help with
/// it.)
void check_sources(const CLI::App& app, const CreateCommand& command) {
    if (command.file.empty()) {
        if (command.request.name.empty() || command.request.profiles.empty()) {
            throw CLI::ValidationError("create", "a NAME and a --profile are needed, or --file");
        }
        return;
    }
    for (const CLI::Option* option : app.get_options()) {
        const std::string name = option->get_single_name();
        const bool goes_with_it =
            option->get_positional() || name == "file" || name == "json" || name == "config";
        if (option->count() > 0 && !goes_with_it) {
            throw CLI::ExcludesError("--file", "--" + name);
        }
    }
}

} // namespace

void add_create(CLI::App& app, Program& program) {
    CLI::App* command = add_command(app, program, "create", "Define a domain with vGPUs", details);
    const auto options = std::make_shared<CreateCommand>();
    add_name_argument(*command, "NAME", options->request.name);
    add_gpu_options(*command, options->request);
    add_machine_options(*command, options->request);
    add_device_options(*command, options->request);
    command->add_flag("--start", options->request.start, "Start it");
    add_sources(*command, *options);
    command->callback([&program, command, options] {
        check_sources(*command, *options);
        program.run = [&program, options] { return create(program.options, *options); };
    });
}

} // namespace vgpu::cli
