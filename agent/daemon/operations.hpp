#pragma once

#include "agent/http/message.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace vgpu {

/// Long actions that a client does not want to wait for: what became of each, for as long as it is
/// among the last ones. May be used from any thread.
class Operations {
public:
    static constexpr std::size_t most_kept = 256;

    struct Operation {
        std::string id;
        std::string kind;   ///< "create", "start", ...
        std::string target; ///< name or UUID of the domain, as the client said; may be empty
        std::string started_at;
        std::string ended_at;                   ///< empty while it runs
        std::optional<http::Response> response; ///< once it is over

        [[nodiscard]] bool failed() const {
            constexpr int first_error_status = 400;
            return response && response->status >= first_error_status;
        }
    };

    /// A new one that runs. Returns its id.
    [[nodiscard]] std::string begin(const std::string& kind, const std::string& target);
    void end(const std::string& id, http::Response response);

    [[nodiscard]] std::optional<Operation> find(const std::string& id) const;
    /// How many of each kind have ended well, or not, since the start.
    [[nodiscard]] std::map<std::pair<std::string, bool>, std::uint64_t> counts() const;
    /// The newest last.
    [[nodiscard]] std::vector<Operation> list() const;

private:
    mutable std::mutex mutex_;
    std::deque<Operation> kept_;
    std::map<std::pair<std::string, bool>, std::uint64_t> counts_; ///< kind, done
};

/// As docs/openapi.yaml says.
[[nodiscard]] std::string operation_json(const Operations::Operation& operation);
/// The same on one line, for the event stream.
[[nodiscard]] std::string operation_line(const Operations::Operation& operation);
[[nodiscard]] std::string operations_json(const std::vector<Operations::Operation>& operations);

} // namespace vgpu
