#include "agent/http/json_body.hpp"

#include "agent/http/text.hpp"

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace vgpu::http {

namespace {

constexpr std::size_t max_depth = 64;

/// Looks at a JSON text without building anything; nlohmann's reader itself does not recurse.
class Guard : public nlohmann::json::json_sax_t {
public:
    std::string why;

    bool null() override { return true; }
    bool boolean(bool) override { return true; }
    bool number_integer(number_integer_t) override { return true; }
    bool number_unsigned(number_unsigned_t) override { return true; }
    bool number_float(number_float_t, const string_t&) override { return true; }
    bool string(string_t&) override { return true; }
    bool binary(binary_t&) override { return true; }
    bool start_object(std::size_t) override { return deeper(); }
    bool end_object() override { return shallower(); }
    bool start_array(std::size_t) override { return deeper(); }
    bool end_array() override { return shallower(); }
    bool key(string_t& name) override {
        if (keys_.back().insert(name).second) {
            return true;
        }
        why = "the key '" + printable(name, 80) + "' is there twice in one object";
        return false;
    }
    bool parse_error(std::size_t position, const std::string&,
                     const nlohmann::json::exception&) override {
        why = "not JSON at byte " + std::to_string(position);
        return false;
    }

private:
    bool deeper() {
        keys_.emplace_back();
        if (keys_.size() <= max_depth) {
            return true;
        }
        why = "nested deeper than " + std::to_string(max_depth);
        return false;
    }
    bool shallower() {
        keys_.pop_back();
        return true;
    }
    std::vector<std::set<std::string>> keys_;
};

} // namespace

Result<nlohmann::json> parse_json(std::string_view text) {
    Guard guard;
    if (!nlohmann::json::sax_parse(text, &guard)) {
        return fail(ErrorCode::invalid, "the JSON text is refused: " + guard.why);
    }
    auto value = nlohmann::json::parse(text, nullptr, false);
    if (value.is_discarded()) {
        return fail(ErrorCode::invalid, "the JSON text is refused");
    }
    return value;
}

tl::expected<nlohmann::json, Problem> parse_json_body(const Request& request) {
    const std::string type = request.header("Content-Type");
    if (!equal_ignoring_case(trim(std::string_view(type).substr(0, type.find(';'))),
                             "application/json")) {
        return tl::make_unexpected(protocol_problem(
            415, "unsupported_media_type",
            type.empty() ? "the body needs the header 'Content-Type: "
                           "application/json'"
                         : "the body must be application/json, not '" + printable(type, 80) + "'"));
    }
    auto value = parse_json(request.body);
    if (!value) {
        return tl::make_unexpected(problem_of(value.error().in("request body")));
    }
    return *std::move(value);
}

} // namespace vgpu::http
