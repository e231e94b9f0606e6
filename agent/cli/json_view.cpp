#include "agent/cli/json_view.hpp"

#include "agent/http/json_body.hpp"

namespace vgpu::cli {

namespace {

const Json nothing = nullptr;
const Json no_list = Json::array();

} // namespace

Result<Json> parse_answer(std::string_view text) {
    // The strict reader bounds the depth; it sorts members, which people should not have to see.
    if (const auto checked = http::parse_json(text); !checked) {
        return fail(ErrorCode::io,
                    "virt-vgpud answered something else than JSON: " + checked.error().text());
    }
    return Json::parse(text, nullptr, false);
}

const Json& member(const Json& object, const char* name) {
    if (!object.is_object()) {
        return nothing;
    }
    const auto found = object.find(name);
    return found == object.end() ? nothing : *found;
}

std::string text_member(const Json& object, const char* name) {
    const Json& value = member(object, name);
    return value.is_string() ? value.get<std::string>() : std::string();
}

std::int64_t number_member(const Json& object, const char* name) {
    const Json& value = member(object, name);
    return value.is_number_integer() ? value.get<std::int64_t>() : 0;
}

bool flag_member(const Json& object, const char* name) {
    const Json& value = member(object, name);
    return value.is_boolean() && value.get<bool>();
}

const Json& list_member(const Json& object, const char* name) {
    const Json& value = member(object, name);
    return value.is_array() ? value : no_list;
}

std::string written(const Json& json) {
    return json.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

std::string written_line(const Json& json) {
    return json.dump(-1, ' ', true, Json::error_handler_t::replace) + "\n";
}

} // namespace vgpu::cli
