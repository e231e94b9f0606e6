#include "tests/simulator/options.hpp"

#include "tests/simulator/address.hpp"
#include "tests/simulator/command.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cstdint>
#include <fstream>
#include <iostream>
#include <sstream>

namespace vgpu::simulator {

namespace {

struct Plain {
    std::uint32_t gpus = 2;
    std::uint32_t vfs = 8;
    std::string model = "L40S";
    std::string framework;
    std::string catalogue = "F1";
    bool mixed = false;
    std::uint64_t shuffle = 0;
    std::string config;
    std::vector<std::string> commands;
};

/// Cards on buses from 41 on, as many buses apart as their VFs need, the first half on NUMA node 0.
std::string gpu_lines(const Plain& plain) {
    std::string lines;
    constexpr std::uint32_t first_bus = 0x41;
    constexpr std::uint32_t last_bus = 0xf0;
    const std::uint32_t apart = (plain.vfs + 8 + 255) / 256;
    Address address{.domain = 0, .bus = first_bus, .devfn = 0};
    for (std::uint32_t i = 0; i < plain.gpus; ++i) {
        if (address.bus + apart > last_bus) {
            address = {.domain = address.domain + 1, .bus = first_bus, .devfn = 0};
        }
        lines += fmt::format("gpu {} model={} vfs={} catalogue={} numa={} mixed={}{}\n",
                             address.text(), plain.model, plain.vfs, plain.catalogue,
                             i < (plain.gpus + 1) / 2 ? 0 : 1, plain.mixed ? "on" : "off",
                             plain.framework.empty() ? "" : " framework=" + plain.framework);
        address.bus = static_cast<std::uint8_t>(address.bus + apart);
    }
    return lines;
}

void add_options(CLI::App& app, Plain& plain, Options& options) {
    static bool foreground = true;
    app.add_option("MOUNTPOINT", options.mountpoint, "An existing directory")->required();
    app.add_option("--gpus", plain.gpus, "Number of GPUs (not with --config)")
        ->check(CLI::Range(0, 64));
    app.add_option("--vfs", plain.vfs, "VFs of each GPU, 4096 in all")->check(CLI::Range(0, 4096));
    app.add_option("--model", plain.model, "L40S, A2, T4, RTX-PRO-6000 or H200X");
    app.add_option("--framework", plain.framework,
                   "vendor-vfio, mdev, mdev-pf or none; default: the model's");
    app.add_option("--catalogue", plain.catalogue, "Text format of creatable_vgpu_types: F1 or F2");
    app.add_flag("--mixed", plain.mixed, "Mixed-size mode on");
    app.add_option("--shuffle", plain.shuffle,
                   "Seed of the order in which directories list; 0: sorted");
    app.add_option("--config", plain.config,
                   "File with one command per line that describes the host");
    app.add_option("--command", plain.commands,
                   "A command to carry out before serving; can be repeated");
    app.add_flag("--foreground", foreground, "Stay in the foreground (it always does)");
    app.add_option(
        "--ready-fd", options.ready_fd,
        "File descriptor that gets the line 'ready MOUNTPOINT' when the mount serves (default: 1)");
    app.add_flag("--die-with-parent", options.die_with_parent, "End when the parent process ends");
    app.add_flag("--cache", options.cache,
                 "Let the kernel remember names for a minute, as it does those of a real sysfs: "
                 "for measuring on a "
                 "host that does not change");
    app.add_flag("--replace-stale", options.replace_stale,
                 "Remove the mount that a killed simulator left");
}

} // namespace

tl::expected<Options, int> parse_options(int count, char** arguments) {
    Plain plain;
    Options options;
    CLI::App app("Simulates the files of a host with NVIDIA vGPUs: sys/, proc/, dev/ and control.\n"
                 "It serves until SIGTERM or SIGINT, then unmounts.",
                 "vgpu-simulator");
    app.set_version_flag("--version", VGPU_VERSION);
    add_options(app, plain, options);
    app.footer(
        "Commands, one per line in a configuration file, one per write to MOUNTPOINT/control:\n" +
        command_help() +
        "TYPE is an id or a name. OPERATION is stat, open, read, write, write-zero, write-other, "
        "readdir or readlink. Reading MOUNTPOINT/control shows the state and the counters.\n"
        "Example: vgpu-simulator --gpus 2 --vfs 8 /mnt");
    try {
        app.parse(count, arguments);
    } catch (const CLI::ParseError& error) {
        return tl::unexpected<int>(app.exit(error) == 0 ? 0 : 2);
    }
    if (plain.config.empty()) {
        options.configuration = gpu_lines(plain);
    } else {
        std::ifstream file(plain.config);
        std::ostringstream text;
        if (!file || !(text << file.rdbuf())) {
            std::cerr << fmt::format("vgpu-simulator: cannot read {}\n", plain.config);
            return tl::unexpected<int>(2);
        }
        options.configuration = text.str() + "\n";
    }
    options.configuration += fmt::format("shuffle {}\n", plain.shuffle);
    for (const auto& command : plain.commands) {
        options.configuration += command + "\n";
    }
    return options;
}

} // namespace vgpu::simulator
