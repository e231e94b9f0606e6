#include "tests/simulator/command.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace vgpu::simulator {

namespace {

tl::expected<std::shared_ptr<Process>, std::string> process_named(Host& host, Arguments& a) {
    SIMULATOR_TRY(const auto pid, a.number("PID"));
    const auto found = host.processes.find(static_cast<pid_t>(pid));
    if (found == host.processes.end()) {
        return refused(fmt::format("there is no process {}", pid));
    }
    return found->second;
}

std::optional<std::string> take(std::map<std::string, std::string>& pairs, const std::string& key) {
    auto node = pairs.extract(key);
    return node.empty() ? std::nullopt : std::optional(std::move(node.mapped()));
}

Done take_number(std::map<std::string, std::string>& pairs, const std::string& key,
                 std::uint64_t& value) {
    const auto text = take(pairs, key);
    const auto number = text ? parse_number(*text) : std::optional(value);
    if (!number) {
        return refused(fmt::format("{} is no number: '{}'", key, *text));
    }
    value = *number;
    return ok();
}

Done take_state(std::map<std::string, std::string>& pairs, char& state) {
    const auto text = take(pairs, "state");
    if (text && (text->size() != 1 ||
                 std::string_view("RSDTZX").find((*text)[0]) == std::string_view::npos)) {
        return refused(fmt::format("a state is one of R S D T Z X, not '{}'", *text));
    }
    state = text ? (*text)[0] : state;
    return ok();
}

Done nothing_left(const std::map<std::string, std::string>& pairs) {
    return pairs.empty() ? ok() : refused(fmt::format("unknown key '{}'", pairs.begin()->first));
}

/// Blanks part the arguments, unless the text has its own NULs.
std::string command_line(std::string text) {
    if (text.find('\0') == std::string::npos) {
        std::ranges::replace(text, ' ', '\0');
    }
    if (!text.empty() && text.back() != '\0') {
        text += '\0';
    }
    return text;
}

unsigned& fakes(Device& device, VfioNode node) {
    return node == VfioNode::group ? device.holders.group_fakes : device.holders.cdev_fakes;
}

void drop_fd(Host& host, Process& process, int number) {
    const auto found = process.fds.find(number);
    if (found == process.fds.end()) {
        return;
    }
    if (const auto device = found->second.held.lock()) {
        auto& count = fakes(*device, found->second.node);
        count -= count > 0 ? 1 : 0;
        host.closed(device);
    }
    process.fds.erase(found);
}

/// "group:DEVICE" and "cdev:DEVICE" stand for the paths of that device's nodes, also with what
/// follows a blank.
tl::expected<std::string, std::string> fd_target(Host& host, const std::string& text) {
    const auto colon = text.find(':');
    const auto kind = text.substr(0, colon);
    if (kind != "group" && kind != "cdev") {
        return text;
    }
    const auto blank = std::min(text.find(' '), text.size());
    SIMULATOR_TRY(const auto device, device_named(host, text.substr(colon + 1, blank - colon - 1)));
    if (device->vfio < 0) {
        return refused(fmt::format("{} has no VFIO nodes", device->name));
    }
    return host.node_path(*device, kind == "group" ? VfioNode::group : VfioNode::cdev) +
           text.substr(blank);
}

Done process_add(Host& host, Arguments& a) {
    SIMULATOR_TRY(const auto pid, a.number("PID"));
    SIMULATOR_TRY(auto pairs, a.pairs());
    auto process = std::make_shared<Process>();
    Task leader;
    std::uint64_t parent = 1;
    std::uint64_t uid = 0;
    process->start_time = 1000 + pid;
    leader.comm = take(pairs, "comm").value_or("qemu-system-x86");
    process->cmdline = command_line(take(pairs, "cmdline").value_or(leader.comm));
    SIMULATOR_CHECK(take_number(pairs, "start", process->start_time));
    SIMULATOR_CHECK(take_number(pairs, "ppid", parent));
    SIMULATOR_CHECK(take_number(pairs, "uid", uid));
    SIMULATOR_CHECK(take_state(pairs, leader.state));
    SIMULATOR_CHECK(nothing_left(pairs));
    process->pid = static_cast<pid_t>(pid);
    process->parent = static_cast<pid_t>(parent);
    process->uid = static_cast<unsigned>(uid);
    process->tasks.emplace(process->pid, std::move(leader));
    if (pid == 0 || pid > 0x7fffffff || !host.processes.emplace(process->pid, process).second) {
        return refused(fmt::format("there is a process {} already, or there can be none", pid));
    }
    return ok();
}

Done process_remove(Host& host, Arguments& a) {
    SIMULATOR_TRY(const auto process, process_named(host, a));
    SIMULATOR_CHECK(a.end());
    while (!process->fds.empty()) {
        drop_fd(host, *process, process->fds.begin()->first);
    }
    process->vanishes_after = 0;
    host.processes.erase(process->pid);
    return ok();
}

Done process_fd(Host& host, Arguments& a) {
    SIMULATOR_TRY(const auto process, process_named(host, a));
    SIMULATOR_TRY(const auto number, a.number("FD"));
    SIMULATOR_TRY(const auto text, a.next("TARGET"));
    SIMULATOR_CHECK(a.end());
    SIMULATOR_TRY(auto target, fd_target(host, text));
    const auto fd = static_cast<int>(number);
    drop_fd(host, *process, fd);
    if (text == "close") {
        return ok();
    }
    OpenFd open;
    if (text != "file") {
        const auto [device, node] = host.node_at(target);
        if (device) {
            open.held = device;
            open.node = node;
            ++fakes(*device, node);
            host.opened(*device);
        }
        open.target = std::move(target);
    }
    process->fds.emplace(fd, std::move(open));
    return ok();
}

Done process_thread(Host& host, Arguments& a) {
    SIMULATOR_TRY(const auto process, process_named(host, a));
    SIMULATOR_TRY(const auto tid, a.number("TID"));
    SIMULATOR_TRY(auto pairs, a.pairs());
    Task task;
    task.comm = take(pairs, "comm").value_or("CPU 0/KVM");
    SIMULATOR_CHECK(take_state(pairs, task.state));
    SIMULATOR_CHECK(nothing_left(pairs));
    process->tasks.insert_or_assign(static_cast<pid_t>(tid), std::move(task));
    return ok();
}

Done process_state(Host& host, Arguments& a) {
    SIMULATOR_TRY(const auto process, process_named(host, a));
    SIMULATOR_TRY(const auto word, a.next("STATE"));
    SIMULATOR_CHECK(a.end());
    std::map<std::string, std::string> pairs{{"state", word}};
    return take_state(pairs, process->tasks.at(process->pid).state);
}

Done process_vanish(Host& host, Arguments& a) {
    SIMULATOR_TRY(const auto process, process_named(host, a));
    SIMULATOR_TRY(const auto accesses, a.count(0));
    SIMULATOR_CHECK(a.end());
    process->vanishes_after = accesses;
    return ok();
}

/// Many processes at once, for what a scan of /proc costs.
Done process_crowd(Host& host, Arguments& a) {
    SIMULATOR_TRY(const auto count, a.number("COUNT"));
    SIMULATOR_TRY(const auto fds, a.count(8));
    SIMULATOR_CHECK(a.end());
    pid_t pid = 1'000'000;
    for (std::uint64_t i = 0; i < count; ++i, ++pid) {
        auto process = std::make_shared<Process>();
        process->pid = pid;
        process->start_time = 1000 + static_cast<std::uint64_t>(pid);
        process->cmdline = command_line("/usr/bin/bystander --serve");
        process->tasks.emplace(pid, Task{.state = 'S', .comm = "bystander"});
        for (std::uint64_t fd = 0; fd < fds; ++fd) {
            process->fds.emplace(static_cast<int>(fd), OpenFd{.target = "/dev/null", .held = {}});
        }
        host.processes.emplace(pid, std::move(process));
    }
    return ok();
}

} // namespace

std::vector<Command> process_commands() {
    return {
        {"process-add",
         "PID [comm=TEXT] [cmdline=TEXT] [start=TICKS] [state=S] [ppid=PID] [uid=UID]",
         process_add},
        {"process-fd", "PID FD PATH|group:DEVICE|cdev:DEVICE|file|close", process_fd},
        {"process-thread", "PID TID [comm=TEXT] [state=S]", process_thread},
        {"process-state", "PID STATE", process_state},
        {"process-vanish", "PID [ACCESSES]", process_vanish},
        {"process-remove", "PID", process_remove},
        {"process-crowd", "COUNT [FDS]", process_crowd},
    };
}

} // namespace vgpu::simulator
