#include "xml/instance_request.hpp"
#include "xml/sha256.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <functional>
#include <set>
#include <vector>

namespace vgpu::xml {

namespace {

using nlohmann::json;

constexpr std::string_view digest_mark = "sha256:";
constexpr int max_json_depth = 8;

/// Notices what the parser would settle in silence: a name given twice in one object, of which it
/// keeps the last.
class TwiceGuard {
public:
    bool operator()(int depth, json::parse_event_t event, const json& value) {
        if (depth > max_json_depth) {
            why_ = fmt::format("nested more than {} deep", max_json_depth);
        } else if (event == json::parse_event_t::object_start) {
            open_.emplace_back();
        } else if (event == json::parse_event_t::object_end) {
            open_.pop_back();
        } else if (event == json::parse_event_t::key && why_.empty()) {
            const auto& key = value.get_ref<const std::string&>();
            why_ = open_.back().insert(key).second
                       ? std::string()
                       : fmt::format("the field \"{}\" is there twice", printable(key, 80));
        }
        return why_.empty();
    }
    [[nodiscard]] const std::string& why() const { return why_; }

private:
    std::vector<std::set<std::string>> open_;
    std::string why_;
};

} // namespace

Result<InstanceRequest> parse_instance_request_text(std::string_view text) {
    if (text.size() > max_request_bytes) {
        return fail(ErrorCode::invalid, fmt::format("the request has {} bytes; at most {} are read",
                                                    text.size(), max_request_bytes));
    }
    TwiceGuard guard;
    const json value = json::parse(text, std::ref(guard), false);
    if (!guard.why().empty()) {
        return fail(ErrorCode::invalid, fmt::format("the request: {}", guard.why()));
    }
    if (value.is_discarded()) {
        return fail(ErrorCode::invalid, "the request is not JSON");
    }
    return parse_instance_request(value);
}

std::string request_text(const InstanceRequest& request) {
    InstanceRequest kept = request;
    kept.uuid.reset();
    kept.start = false;
    if (!kept.base_xml.empty() && !kept.base_xml.starts_with(digest_mark)) {
        kept.base_xml = std::string(digest_mark) + sha256_hex(kept.base_xml);
    }
    return to_json(kept).dump(-1, ' ', true, json::error_handler_t::replace);
}

} // namespace vgpu::xml
