#include "tests/support/simulator.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <system_error>

namespace vgpu::test {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view prefix = "vgpu-simulator-";

/// The directories of test runs that are dead, which they could not remove. Their names hold the
/// process id: what runs beside this process is not touched. A mount whose program was killed
/// answers ENOTCONN to everything.
void clean_leftovers() {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(fs::temp_directory_path(), ignored)) {
        const auto name = entry.path().filename().string();
        if (!name.starts_with(prefix)) {
            continue;
        }
        const auto owner =
            static_cast<pid_t>(std::strtol(name.c_str() + prefix.size(), nullptr, 10));
        if (owner > 0 && kill(owner, 0) != 0 && errno == ESRCH) {
            umount2((entry.path() / "host").c_str(), MNT_DETACH);
            fs::remove_all(entry.path(), ignored);
        }
    }
}

[[noreturn]] void run(const std::vector<std::string>& arguments) {
    std::vector<char*> pointers;
    for (const auto& argument : arguments) {
        pointers.push_back(const_cast<char*>(argument.c_str()));
    }
    pointers.push_back(nullptr);
    execv(pointers.front(), pointers.data());
    _exit(127);
}

/// Waits for the line that says the mount serves. False at end of file or after half a minute.
bool wait_for_line(int descriptor) {
    pollfd entry{.fd = descriptor, .events = POLLIN, .revents = 0};
    char byte = 0;
    while (poll(&entry, 1, 30'000) > 0) {
        if (read(descriptor, &byte, 1) != 1) {
            return false;
        }
        if (byte == '\n') {
            return true;
        }
    }
    return false;
}

int link_number(const std::string& path) {
    const auto name = fs::read_symlink(path).filename().string();
    return std::stoi(name);
}

} // namespace

Simulator::Simulator(const SimulatorOptions& options)
    : directory_(std::string(prefix) + std::to_string(getpid())) {
    clean_leftovers();
    for (const auto& path : {mount(), state(), runtime(), libvirt_run()}) {
        fs::create_directory(path);
    }
    std::vector<std::string> arguments{VGPU_SIMULATOR_PATH, "--die-with-parent", "--ready-fd", "3"};
    if (options.config.empty()) {
        arguments.insert(arguments.end(), {"--gpus", std::to_string(options.gpus), "--vfs",
                                           std::to_string(options.vfs)});
    } else {
        const auto file = directory_ / "simulator.conf";
        write_file(file, options.config);
        arguments.insert(arguments.end(), {"--config", file});
    }
    arguments.insert(arguments.end(), options.arguments.begin(), options.arguments.end());
    arguments.push_back(mount());
    start(arguments);
}

Simulator::~Simulator() {
    if (pid_ > 0) {
        stop();
    }
    umount2(mount().c_str(), MNT_DETACH);
}

void Simulator::start(const std::vector<std::string>& arguments) {
    int ready[2];
    if (pipe2(ready, O_CLOEXEC) != 0) {
        throw std::system_error(errno, std::generic_category(), "pipe");
    }
    pid_ = fork();
    if (pid_ == 0) {
        // dup2 onto itself would leave close-on-exec set.
        if (ready[1] == 3) {
            fcntl(3, F_SETFD, 0);
        } else {
            dup2(ready[1], 3);
        }
        run(arguments);
    }
    close(ready[1]);
    const bool serves = pid_ > 0 && wait_for_line(ready[0]);
    close(ready[0]);
    if (!serves) {
        if (pid_ > 0) {
            stop();
        }
        throw std::runtime_error("the simulator did not start; its own message is on stderr");
    }
}

int Simulator::stop() {
    int status = 0;
    kill(pid_, SIGTERM);
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void Simulator::control(std::string_view command) const {
    const int error = write_attribute(mount() + "/control", command);
    if (error == 0) {
        return;
    }
    const auto text = report();
    const auto line = text.find("\nerror ");
    const auto reason = line == std::string::npos
                            ? std::string(std::strerror(error))
                            : text.substr(line + 7, text.find('\n', line + 1) - line - 7);
    throw std::runtime_error("simulator: " + std::string(command) + ": " + reason);
}

std::string Simulator::report() const {
    return read_file(mount() + "/control");
}

std::uint64_t Simulator::counter(std::string_view name) const {
    const auto text = report();
    const auto start = "\ncounter " + std::string(name) + " ";
    const auto found = text.find(start);
    return found == std::string::npos ? 0 : std::stoull(text.substr(found + start.size()));
}

std::string Simulator::device(std::string_view name) const {
    const bool is_mdev = name.find('-') != std::string_view::npos;
    return sysfs() + (is_mdev ? "/bus/mdev/devices/" : "/bus/pci/devices/") + std::string(name);
}

std::string Simulator::group_node(std::string_view name) const {
    return dev() + "/vfio/" + std::to_string(link_number(device(name) + "/iommu_group"));
}

std::string Simulator::cdev_node(std::string_view name) const {
    for (const auto& entry : fs::directory_iterator(device(name) + "/vfio-dev")) {
        return dev() + "/vfio/devices/" + entry.path().filename().string();
    }
    throw std::runtime_error(std::string(name) + " has no cdev");
}

std::uint32_t Simulator::type(std::string_view vf) const {
    return static_cast<std::uint32_t>(
        std::stoul(read_file(device(vf) + "/nvidia/current_vgpu_type")));
}

std::string Simulator::write_config(std::string_view more, std::string_view proc_root) const {
    const auto path = directory_ / "virt-vgpu.toml";
    std::string text = "[paths]\n";
    const auto add = [&](std::string_view key, std::string_view value) {
        text.append(key).append(" = \"").append(value).append("\"\n");
    };
    add("sysfs", sysfs());
    add("proc", proc_root.empty() ? std::string_view(proc()) : proc_root);
    add("dev", dev());
    add("libvirt_run", libvirt_run());
    add("state", state());
    add("runtime", runtime());
    write_file(path, text.append(more));
    return path;
}

} // namespace vgpu::test
