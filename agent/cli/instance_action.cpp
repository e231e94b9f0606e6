#include "agent/cli/instance_action.hpp"

#include "agent/cli/instance_text.hpp"
#include "agent/cli/output.hpp"
#include "agent/http/target.hpp"

#include <utility>

namespace vgpu::cli {

std::string instance_target(const std::string& name, const std::string& verb) {
    std::string target = "/v1/instances/" + http::encode_segment(name);
    return verb.empty() ? target : target.append("/").append(verb);
}

int act_on_instance(const CommonOptions& options, ChangeRequest action) {
    const auto daemon = DaemonClient::open(options);
    if (!daemon) {
        return report(daemon.error());
    }
    const auto instance = carry_out(*daemon, std::move(action));
    if (!instance) {
        return report_refusal(instance.error());
    }
    for (const Json& warning : list_member(*instance, "warnings")) {
        if (warning.is_string()) {
            warn(warning.get<std::string>());
        }
    }
    return print(options.json ? written(*instance) : instance_text(*instance, wants_colour()));
}

} // namespace vgpu::cli
