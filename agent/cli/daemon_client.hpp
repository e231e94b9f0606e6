#pragma once

#include "agent/cli/json_view.hpp"
#include "agent/cli/session.hpp"
#include "agent/http/client.hpp"

#include <string>

namespace vgpu::cli {

/// virt-vgpud, for the commands that ask it for something. Every function blocks.
class DaemonClient {
public:
    /// The daemon of the configuration, which need not run yet. Error: as configuration().
    [[nodiscard]] static Result<DaemonClient> open(const CommonOptions& options);
    explicit DaemonClient(const std::string& socket) : client_(socket) {}

    struct Answer {
        int status = 0;
        http::HeaderFields headers;
        Json body; ///< null if there is none
    };
    /// Errors: as http::Client::request(); `io` also for a body that is no JSON.
    [[nodiscard]] Result<Answer> ask(const http::ClientRequest& request, Deadline deadline) const;
    /// ask() for what is only looked at, for at most 30 s.
    [[nodiscard]] Result<Answer> get(const std::string& target) const;

    [[nodiscard]] const http::Client& http() const { return client_; }

private:
    http::Client client_;
};

/// Whether the failure is that nobody listens on the socket, which no answer of a daemon says.
[[nodiscard]] bool is_not_running(const Error& error);

/// Says what the daemon, or the way to it, has refused. Returns exit_failed. Unlike report() it
/// does not advise root, which the daemon has.
[[nodiscard]] int report_refusal(const Error& error);

} // namespace vgpu::cli
