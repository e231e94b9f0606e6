#include "agent/cli/daemon_client.hpp"

#include "agent/cli/output.hpp"

#include <utility>

namespace vgpu::cli {

Result<DaemonClient> DaemonClient::open(const CommonOptions& options) {
    VGPU_TRY_ASSIGN(const Config config, configuration(options));
    return DaemonClient(config.paths.api_socket());
}

Result<DaemonClient::Answer> DaemonClient::ask(const http::ClientRequest& request,
                                               Deadline deadline) const {
    VGPU_TRY_ASSIGN(http::ClientResponse response, client_.request(request, deadline));
    Answer answer{response.status, std::move(response.headers), nullptr};
    if (!response.body.empty()) {
        VGPU_TRY_ASSIGN(answer.body, parse_answer(response.body));
    }
    return answer;
}

Result<DaemonClient::Answer> DaemonClient::get(const std::string& target) const {
    constexpr std::chrono::seconds patience(30);
    http::ClientRequest request;
    request.target = target;
    return ask(request, Deadline::in(patience));
}

bool is_not_running(const Error& error) {
    // Only a system call of our own has an errno value.
    return error.code() == ErrorCode::unavailable && error.error_number() != 0;
}

int report_refusal(const Error& error) {
    complain(error.text());
    return exit_failed;
}

} // namespace vgpu::cli
