#include "tests/simulator/trees.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <charconv>

namespace vgpu::simulator {

namespace {

using ProcessPtr = std::shared_ptr<Process>;

/// A number as /proc spells it: no sign, no leading zero.
std::optional<int> number_named(std::string_view name) {
    int number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    const bool plain = !name.empty() && name.front() >= '0' && name.front() <= '9' &&
                       (name.front() != '0' || name.size() == 1);
    if (!plain || error != std::errc{} || end != name.data() + name.size()) {
        return std::nullopt;
    }
    return number;
}

template <typename Map>
std::vector<std::string> numbers(const Map& map) {
    std::vector<std::string> names;
    names.reserve(map.size());
    for (const auto& [number, value] : map) {
        names.push_back(fmt::format("{}", number));
    }
    return names;
}

std::string stat_line(const Process& process, pid_t tid, const Task& task) {
    return fmt::format(
        "{} ({}) {} {} {} {} 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 {} 0 {} 0 0 "
        "18446744073709551615 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
        tid, task.comm, task.state, process.parent, process.pid, process.pid, process.tasks.size(),
        process.start_time);
}

std::string_view state_name(char state) {
    switch (state) {
    case 'R':
        return "running";
    case 'D':
        return "disk sleep";
    case 'T':
        return "stopped";
    case 'Z':
        return "zombie";
    case 'X':
        return "dead";
    default:
        return "sleeping";
    }
}

std::string status_text(const Process& process, pid_t tid, const Task& task) {
    return fmt::format(
        "Name:\t{}\nUmask:\t0022\nState:\t{} ({})\nTgid:\t{}\nNgid:\t0\nPid:\t{}\nPPid:\t{}\n"
        "TracerPid:\t0\nUid:\t{}\t{}\t{}\t{}\nGid:\t{}\t{}\t{}\t{}\nThreads:\t{}\n",
        task.comm, task.state, state_name(task.state), process.pid, tid, process.parent,
        process.uid, process.uid, process.uid, process.uid, process.uid, process.uid, process.uid,
        process.uid, process.tasks.size());
}

bool has_files(const Task& task) {
    return task.state != 'Z' && task.state != 'X';
}

Node fd_entry(const OpenFd& fd) {
    if (fd.target.empty()) {
        return labelled(text_file(""), "proc/fd/entry");
    }
    return labelled(link(fd.target), "proc/fd/entry");
}

/// A task that ended has no files left, though others of its process do.
Node fd_directory(const ProcessPtr& process, pid_t tid) {
    const auto fds = [process, tid]() -> const Fds& {
        static const Fds none;
        const auto task = process->tasks.find(tid);
        return task != process->tasks.end() && has_files(task->second) ? process->fds : none;
    };
    Node node = directory(
        [fds](const std::string& name) -> std::optional<Node> {
            const auto number = number_named(name);
            const auto found = number ? fds().find(*number) : fds().end();
            return found == fds().end() ? std::nullopt : std::optional(fd_entry(found->second));
        },
        [fds]() -> Names { return numbers(fds()); });
    node.mode = 0500;
    return labelled(std::move(node), "proc/fd");
}

std::vector<std::pair<std::string, std::function<Node()>>> task_entries(const ProcessPtr& process,
                                                                        pid_t tid) {
    const auto task = [process, tid] { return process->tasks.at(tid); };
    return {
        {"stat",
         [=] { return labelled(text_file(stat_line(*process, tid, task())), "proc/stat"); }},
        {"status",
         [=] { return labelled(text_file(status_text(*process, tid, task())), "proc/status"); }},
        {"comm", [=] { return labelled(text_file(task().comm + "\n"), "proc/comm"); }},
        {"cmdline",
         [=] {
             return labelled(text_file(has_files(task()) ? process->cmdline : ""), "proc/cmdline");
         }},
        {"fd", [=] { return fd_directory(process, tid); }},
    };
}

Node tasks_directory(const ProcessPtr& process) {
    Node node = directory(
        [process](const std::string& name) -> std::optional<Node> {
            const auto tid = number_named(name);
            if (!tid || !process->tasks.contains(*tid)) {
                return std::nullopt;
            }
            return fixed_directory(task_entries(process, *tid));
        },
        [process]() -> Names { return numbers(process->tasks); });
    return labelled(std::move(node), "proc/task");
}

Node process_directory(const ProcessPtr& process) {
    auto entries = task_entries(process, process->pid);
    entries.emplace_back("task", [process] { return tasks_directory(process); });
    Node node = fixed_directory(std::move(entries));
    node.process = process;
    return labelled(std::move(node), "proc/pid");
}

Node proc_sys_directory(Host& host) {
    const auto random = [&host] {
        return fixed_directory({{"boot_id", [&host] {
                                     return file([&host]() -> Text { return host.boot_id + "\n"; });
                                 }}});
    };
    const auto kernel = [&host, random] {
        return fixed_directory(
            {{"random", random},
             {"osrelease", [&host] { return text_file(host.settings.kernel_release + "\n"); }},
             {"ostype", [] { return text_file("Linux\n"); }}});
    };
    return fixed_directory({{"kernel", kernel}});
}

constexpr std::string_view fixed_names[] = {"sys", "version", "cmdline"};

std::optional<Node> find_fixed(Host& host, std::string_view name) {
    if (name == "sys") {
        return proc_sys_directory(host);
    }
    if (name == "version") {
        return text_file("Linux version " + host.settings.kernel_release + "\n");
    }
    if (name == "cmdline") {
        return text_file("BOOT_IMAGE=/vmlinuz root=/dev/vda1 intel_iommu=on iommu=pt\n");
    }
    return std::nullopt;
}

} // namespace

Node proc_tree(Host& host) {
    return directory(
        [&host](const std::string& name) -> std::optional<Node> {
            const auto pid = number_named(name);
            const auto found = pid ? host.processes.find(*pid) : host.processes.end();
            if (found == host.processes.end() || found->second->vanished()) {
                return find_fixed(host, name);
            }
            return process_directory(found->second);
        },
        [&host]() -> Names {
            auto names = numbers(host.processes);
            names.insert(names.end(), std::begin(fixed_names), std::end(fixed_names));
            return names;
        });
}

} // namespace vgpu::simulator
