#include "tests/hook/hook_process.hpp"

#include "agent/core/claim_store.hpp"
#include "agent/core/config.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>

namespace vgpu::test {

namespace {

/// A file with the content, unlinked, at its beginning: a pipe would block for XML larger than its
/// buffer.
int input_of(const std::string& xml) {
    char name[] = "/tmp/vgpu-hook-stdin.XXXXXX";
    const int fd = ::mkstemp(name);
    ::unlink(name);
    std::size_t done = 0;
    while (done < xml.size()) {
        const ssize_t size = ::write(fd, xml.data() + done, xml.size() - done);
        if (size <= 0) {
            throw std::runtime_error("the hook's input could not be written");
        }
        done += static_cast<std::size_t>(size);
    }
    ::lseek(fd, 0, SEEK_SET);
    return fd;
}

std::string escaped(const std::string& text) {
    std::string out;
    for (const char c : text) {
        if (c == '&') {
            out += "&amp;";
        } else if (c == '<') {
            out += "&lt;";
        } else if (c == '\'') {
            out += "&apos;";
        } else {
            out += c;
        }
    }
    return out;
}

std::string hostdev_xml(const TestDevice& device) {
    const auto address = PciAddress::parse(device.device);
    const std::string source =
        address
            ? fmt::format(
                  "<address domain='0x{:04x}' bus='0x{:02x}' slot='0x{:02x}' function='0x{:x}'/>",
                  address->domain, address->bus, address->slot, address->function)
            : fmt::format("<address uuid='{}'/>", device.device);
    return fmt::format("    <hostdev mode='subsystem' type='{}' managed='{}'{}>\n"
                       "      <source>{}</source>\n"
                       "      <alias name='{}'/>\n"
                       "    </hostdev>\n",
                       address ? "pci" : "mdev", device.managed ? "yes" : "no",
                       address ? "" : " model='vfio-pci'", source,
                       device.name.empty() ? "hostdev0" : "ua-" + device.name);
}

std::string request_xml(const TestDevice& device) {
    return fmt::format(
        "      <vgpu:device name='{}' profile='{}'{}{}/>\n", device.name, escaped(device.profile),
        device.gpu.empty() ? "" : fmt::format(" gpu='{}'", device.gpu),
        device.params.empty() ? "" : fmt::format(" params='{}'", escaped(device.params)));
}

} // namespace

std::string hook_program() {
    const char* other = std::getenv("VGPU_TEST_HOOK");
    return other != nullptr ? other : VGPU_HOOK_PATH;
}

void exec_hook(int input, int message, const std::string& config,
               const std::vector<std::string>& arguments) {
    ::dup2(input, STDIN_FILENO);
    ::dup2(message, STDERR_FILENO);
    const int null = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    ::dup2(null, STDOUT_FILENO);
    ::setenv("VIRT_VGPU_CONFIG", config.c_str(), 1);
    const std::string program = hook_program();
    std::vector<char*> argv{const_cast<char*>(program.c_str())};
    for (const std::string& argument : arguments) {
        argv.push_back(const_cast<char*>(argument.c_str()));
    }
    argv.push_back(nullptr);
    ::execv(program.c_str(), argv.data());
    ::_exit(127);
}

HookProcess::HookProcess(const std::string& config, const std::vector<std::string>& arguments,
                         const std::string& xml) {
    const int input = input_of(xml);
    int pipe_ends[2];
    if (::pipe2(pipe_ends, O_CLOEXEC) != 0) {
        throw std::runtime_error("no pipe");
    }
    pid_ = ::fork();
    if (pid_ == 0) {
        exec_hook(input, pipe_ends[1], config, arguments);
    }
    ::close(input);
    ::close(pipe_ends[1]);
    message_ = pipe_ends[0];
}

HookProcess::~HookProcess() {
    if (pid_ > 0) {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }
    ::close(message_);
}

HookEnd HookProcess::wait() {
    HookEnd end;
    // As libvirt does: to the end of its output, then its exit.
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (true) {
        pollfd wait_for{message_, POLLIN, 0};
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
            limit - std::chrono::steady_clock::now());
        if (left.count() <= 0 || ::poll(&wait_for, 1, static_cast<int>(left.count())) == 0) {
            ADD_FAILURE() << "the hook did not end within 60 s";
            ::kill(pid_, SIGKILL);
            break;
        }
        char buffer[4096];
        const ssize_t size = ::read(message_, buffer, sizeof buffer);
        if (size <= 0) {
            break;
        }
        end.message.append(buffer, static_cast<std::size_t>(size));
    }
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    end.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return end;
}

std::string domain_xml(const std::string& name, const std::string& uuid,
                       const std::vector<TestDevice>& devices) {
    std::string requests;
    std::string hostdevs;
    for (const TestDevice& device : devices) {
        if (!device.name.empty()) {
            requests += request_xml(device);
        }
        if (!device.device.empty()) {
            hostdevs += hostdev_xml(device);
        }
    }
    if (!requests.empty()) {
        requests = fmt::format(
            "  <metadata>\n    <vgpu:devices xmlns:vgpu='urn:virt-vgpu:domain:1' domain='{}'>\n{}"
            "    </vgpu:devices>\n  </metadata>\n",
            uuid, requests);
    }
    return fmt::format(
        "<domain type='kvm' id='1'>\n  <name>{}</name>\n  <uuid>{}</uuid>\n{}"
        "  <memory unit='KiB'>1048576</memory>\n  <devices>\n{}  </devices>\n</domain>\n",
        escaped(name), uuid, requests, hostdevs);
}

HookEnd HookTest::hook(const std::string& name, const std::string& operation,
                       const std::string& sub, const std::string& xml,
                       const std::string& extra) const {
    return HookProcess(config, {name, operation, sub, extra}, xml).wait();
}

std::string HookTest::claim_path(const std::string& device) const {
    return fmt::format("{}/claims/{}.json", sim.state(),
                       DeviceKey::parse_device(device)->to_string());
}

std::optional<Claim> HookTest::claim(const std::string& device) const {
    Config::Paths paths;
    paths.state = sim.state();
    paths.runtime = sim.runtime();
    paths.sysfs = sim.sysfs();
    const auto read = ClaimStore(paths).read(*DeviceKey::parse_device(device));
    if (!read) {
        ADD_FAILURE() << read.error().text();
        return std::nullopt;
    }
    return *read;
}

std::vector<std::string> HookTest::claim_files() const {
    std::vector<std::string> names;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(sim.state() + "/claims", error)) {
        names.push_back(entry.path().filename());
    }
    return names;
}

PlayedVmm HookTest::play_vmm(const std::string& name) const {
    const std::string path = sim.libvirt_run() + "/" + name + ".pid";
    write_file(path, "1\n");
    PlayedVmm vmm{UniqueFd(::open(path.c_str(), O_RDWR | O_CLOEXEC)), {::getpid(), 777}};
    struct flock lock{};
    lock.l_type = F_WRLCK;
    EXPECT_EQ(::fcntl(vmm.pid_file.get(), F_SETLK, &lock), 0);
    sim.control(fmt::format("process-add {} comm=qemu start=777", ::getpid()));
    return vmm;
}

std::string HookTest::config_with_root(const std::string& key, const std::string& path) const {
    std::ifstream before(write_config());
    const std::string moved = sim.directory() + "/moved.toml";
    std::ofstream after(moved);
    for (std::string line; std::getline(before, line);) {
        after << (line.starts_with(key + " =") ? fmt::format("{} = \"{}\"", key, path) : line)
              << '\n';
    }
    return moved;
}

void HookTest::write_file(const std::string& path, const std::string& content) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path, std::ios::trunc) << content;
}

void HookTest::expect_all_free() const {
    EXPECT_THAT(claim_files(), ::testing::IsEmpty());
    EXPECT_EQ(sim.counter("writes_while_open"), 0U);
    for (const auto& entry :
         std::filesystem::directory_iterator(sim.sysfs() + "/bus/pci/devices")) {
        const std::string address = entry.path().filename();
        if (std::filesystem::exists(entry.path() / "nvidia/current_vgpu_type")) {
            EXPECT_EQ(sim.type(address), 0U) << address;
        }
    }
}

} // namespace vgpu::test
