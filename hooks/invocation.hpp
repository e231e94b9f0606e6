#pragma once

#include <string>
#include <string_view>

namespace vgpu {

/// What libvirt calls the hook for. Everything else, also operations of later libvirt releases, is
/// `nothing`.
enum class HookOperation { prepare, started, release, reconnect, nothing };

/// The command line of a hook: DRIVER-SCRIPT DOMAIN OPERATION SUB-OPERATION EXTRA.
struct Invocation {
    HookOperation operation = HookOperation::nothing;
    std::string
        domain_name;   ///< as on the command line; names are reused: the UUID comes from the XML
    std::string extra; ///< why a domain was shut off, since libvirt 10.5; "-" before
};

/// Never fails: an unknown operation, too few arguments or another driver's hook (hooks/lxc.d) is
/// `nothing`.
[[nodiscard]] Invocation parse_invocation(int argc, const char* const* argv);

} // namespace vgpu
