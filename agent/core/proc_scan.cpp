#include "agent/core/proc_scan.hpp"

#include "agent/core/proc_directory.hpp"

#include <fmt/format.h>

#include <sys/stat.h>

#include <string_view>
#include <unordered_map>
#include <utility>

namespace vgpu {

namespace {

class Scan {
public:
    Scan(const Proc& proc, const std::vector<std::string>& nodes, Holders wanted)
        : proc_(proc), wanted_(wanted) {
        for (const std::string& node : nodes) {
            names_.emplace(node, node);
            struct stat info{};
            if (::stat(node.c_str(), &info) == 0 && S_ISCHR(info.st_mode)) {
                devices_.emplace(info.st_rdev, node);
            }
        }
    }

    HolderScan run() {
        const auto pids = proc_.pids();
        if (!pids) {
            complain(pids.error());
            return std::move(scan_);
        }
        for (const std::int64_t pid : *pids) {
            if (done()) {
                break;
            }
            look_at(pid);
        }
        return std::move(scan_);
    }

private:
    [[nodiscard]] bool done() const { return wanted_ == Holders::any && !scan_.holders.empty(); }

    /// The first thing that could not be read is named; the rest is looked at all the same, since
    /// what is found there counts.
    void complain(const Error& error) {
        if (!scan_.incomplete) {
            scan_.incomplete = error;
        }
    }

    /// A process; when its leader is a zombie its own fd directory is empty while a thread may
    /// still have the files.
    void look_at(std::int64_t pid) {
        const std::string process = fmt::format("{}/{}", proc_.root(), pid);
        if (look_at_files(pid, process + "/fd")) {
            return;
        }
        const auto threads = numeric_names(process + "/task");
        if (!threads) {
            complain(threads.error());
            return;
        }
        for (const std::int64_t thread : *threads) {
            if (threads->size() > 1) {
                look_at_files(pid, fmt::format("{}/task/{}/fd", process, thread));
            }
        }
    }

    /// False if the directory is there and empty, or gone.
    bool look_at_files(std::int64_t pid, const std::string& path) {
        const auto directory = ProcDirectory::open(path);
        if (!directory) {
            complain(directory.error());
            return true;
        }
        if (!*directory) {
            return false;
        }
        const auto files = (*directory)->numbers();
        if (!files) {
            complain(files.error());
            return true;
        }
        for (const std::int64_t file : *files) {
            const auto target = (*directory)->read_link(file, buffer_);
            if (!target) {
                complain(target.error());
                continue;
            }
            const std::string* node = *target ? node_of(**directory, file, **target) : nullptr;
            if (node != nullptr) {
                scan_.holders.try_emplace(*node, Process{pid, proc_.name(pid)});
            }
        }
        return !files->empty();
    }

    [[nodiscard]] const std::string* node_of(const ProcDirectory& directory, std::int64_t file,
                                             std::string_view target) const {
        // Sockets, pipes and anonymous inodes ("anon_inode:[vfio-device]") have no path.
        if (!target.starts_with('/')) {
            return nullptr;
        }
        constexpr std::string_view deleted = " (deleted)";
        if (target.ends_with(deleted)) {
            target.remove_suffix(deleted.size());
        }
        if (const auto found = names_.find(std::string(target)); found != names_.end()) {
            return &found->second;
        }
        // By number: a VMM may live in another mount namespace, or the node may have been renamed.
        const auto number = devices_.empty() ? std::nullopt : directory.character_device(file);
        const auto found = number ? devices_.find(*number) : devices_.end();
        return found != devices_.end() ? &found->second : nullptr;
    }

    const Proc& proc_;
    Holders wanted_;
    std::unordered_map<std::string, std::string> names_;
    std::unordered_map<dev_t, std::string> devices_;
    HolderScan scan_;
    std::string buffer_;
};

} // namespace

HolderScan scan_holders(const Proc& proc, const std::vector<std::string>& nodes, Holders wanted) {
    return Scan(proc, nodes, wanted).run();
}

} // namespace vgpu
