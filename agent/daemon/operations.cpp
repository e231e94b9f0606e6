#include "agent/daemon/operations.hpp"

#include "agent/core/claim.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace vgpu {

namespace {

using Json = nlohmann::ordered_json;

Json to_json(const Operations::Operation& operation) {
    const bool failed = operation.failed();
    Json json;
    json["id"] = operation.id;
    json["kind"] = operation.kind;
    json["target"] = operation.target;
    json["state"] = !operation.response ? "running" : failed ? "failed" : "done";
    json["started_at"] = operation.started_at;
    json["ended_at"] = operation.ended_at.empty() ? Json(nullptr) : Json(operation.ended_at);
    Json body = nullptr;
    if (operation.response && !operation.response->body.empty()) {
        body = Json::parse(operation.response->body, nullptr, false);
    }
    json["result"] = failed ? Json(nullptr) : body;
    json["problem"] = failed ? body : Json(nullptr);
    return json;
}

std::string text_of(const Json& json) {
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace

std::string Operations::begin(const std::string& kind, const std::string& target) {
    Operation operation;
    operation.id = Uuid::random().to_string();
    operation.kind = kind;
    operation.target = target;
    operation.started_at = utc_now();
    const std::lock_guard lock(mutex_);
    kept_.push_back(operation);
    // The oldest that is over goes; one that runs has a client that will ask.
    const auto over = std::find_if(kept_.begin(), kept_.end(),
                                   [](const Operation& o) { return o.response.has_value(); });
    if (kept_.size() > most_kept && over != kept_.end()) {
        kept_.erase(over);
    }
    return operation.id;
}

void Operations::end(const std::string& id, http::Response response) {
    const std::lock_guard lock(mutex_);
    for (Operation& operation : kept_) {
        if (operation.id == id) {
            operation.ended_at = utc_now();
            operation.response = std::move(response);
            ++counts_[{operation.kind, !operation.failed()}];
        }
    }
}

std::optional<Operations::Operation> Operations::find(const std::string& id) const {
    const std::lock_guard lock(mutex_);
    const auto found =
        std::find_if(kept_.begin(), kept_.end(), [&id](const Operation& o) { return o.id == id; });
    return found == kept_.end() ? std::nullopt : std::optional(*found);
}

std::map<std::pair<std::string, bool>, std::uint64_t> Operations::counts() const {
    const std::lock_guard lock(mutex_);
    return counts_;
}

std::vector<Operations::Operation> Operations::list() const {
    const std::lock_guard lock(mutex_);
    return {kept_.begin(), kept_.end()};
}

std::string operation_json(const Operations::Operation& operation) {
    return text_of(to_json(operation));
}

std::string operation_line(const Operations::Operation& operation) {
    return to_json(operation).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string operations_json(const std::vector<Operations::Operation>& operations) {
    Json list = Json::array();
    for (const Operations::Operation& operation : operations) {
        list.push_back(to_json(operation));
    }
    return text_of(list);
}

} // namespace vgpu
