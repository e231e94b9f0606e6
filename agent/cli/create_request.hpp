#pragma once

#include "agent/cli/json_view.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace vgpu::cli {

/// What the options of `create` say; empty or nullopt: not said.
struct CreateOptions {
    std::string name;
    std::string uuid;
    std::string title;
    std::string description;
    std::uint32_t vcpus = 0;
    std::uint64_t memory_mib = 0;
    std::string virt_type;
    std::string arch;
    std::string machine;
    std::string cpu;
    std::string firmware;
    std::vector<std::string> disks; ///< see disk_of()
    std::vector<std::string> cdroms;
    std::string cloud_init_iso;
    std::vector<std::string> networks; ///< see network_of()
    std::string graphics;
    bool no_console = false;
    std::string kernel;
    std::string initrd;
    std::string cmdline;
    std::vector<std::string> profiles;
    std::uint32_t count = 1; ///< of each profile
    std::string gpu;
    std::string params;
    bool display = false;
    std::optional<std::uint32_t> numa_node;
    std::string policy;
    bool distinct_gpus = false;
    bool start = false;
    std::string base_xml; ///< the XML itself
};

/// "PATH[,format=raw|qcow2][,bus=BUS][,readonly][,boot=N]" as the API wants it. The format may be
/// left out where the name says it (.qcow2, .raw) and below /dev; it is never taken from the
/// content, which is the guest's. Error: invalid.
[[nodiscard]] Result<Json> disk_of(const std::string& text);

/// "NETWORK[,mac=MAC][,model=MODEL][,boot=N]", or "bridge=BRIDGE" in NETWORK's place. Error:
/// invalid.
[[nodiscard]] Result<Json> network_of(const std::string& text);

/// The body of POST /v1/instances: only what was said, so that the daemon's defaults count. Error:
/// invalid, for a disk or network as above.
[[nodiscard]] Result<Json> create_request(const CreateOptions& options);

} // namespace vgpu::cli
