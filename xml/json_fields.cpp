#include "xml/json_fields.hpp"

#include <fmt/format.h>

#include <utility>

namespace vgpu::xml {

namespace {

/// A key as a JSON pointer (RFC 6901) writes it, safe to print.
std::string pointer_token(std::string_view key) {
    std::string token;
    for (const char c : printable(key, 80)) {
        if (c == '~') {
            token += "~0";
        } else if (c == '/') {
            token += "~1";
        } else {
            token += c;
        }
    }
    return token;
}

} // namespace

JsonFields::JsonFields(const nlohmann::json& object, std::string pointer,
                       std::optional<Error>& first)
    : object_(object), pointer_(std::move(pointer)), first_(first) {
    if (!object_.is_object() && !first_) {
        first_ = Error(ErrorCode::invalid, fmt::format("{}: an object is needed, not {}",
                                                       pointer_.empty() ? "the request" : pointer_,
                                                       object_.type_name()));
    }
}

bool JsonFields::has(const char* key) const {
    return object_.is_object() && object_.contains(key);
}

const nlohmann::json* JsonFields::take(const char* key) {
    taken_.insert(key);
    const auto found = object_.is_object() ? object_.find(key) : object_.end();
    return first_ || found == object_.end() ? nullptr : &*found;
}

void JsonFields::refuse(std::string_view key, std::string_view what) {
    if (!first_) {
        first_ = Error(ErrorCode::invalid, fmt::format("{}: {}", pointer_to(key), what));
    }
}

void JsonFields::text(const char* key, std::string& value) {
    const nlohmann::json* member = take(key);
    if (member == nullptr) {
        return;
    }
    if (!member->is_string()) {
        refuse(key, fmt::format("a string is needed, not {}", member->type_name()));
    } else if (member->get_ref<const std::string&>().empty()) {
        refuse(key, "empty; leave it out instead");
    } else {
        value = member->get_ref<const std::string&>();
    }
}

void JsonFields::flag(const char* key, bool& value) {
    const nlohmann::json* member = take(key);
    if (member != nullptr && !member->is_boolean()) {
        refuse(key, fmt::format("true or false is needed, not {}", member->type_name()));
    } else if (member != nullptr) {
        value = member->get<bool>();
    }
}

void JsonFields::number(const char* key, std::optional<std::uint32_t>& value) {
    std::uint32_t number_value = 0;
    number(key, number_value);
    if (has(key)) {
        value = number_value;
    }
}

std::optional<std::uint64_t> JsonFields::whole_number(const char* key, std::uint64_t maximum) {
    const nlohmann::json* member = take(key);
    if (member == nullptr) {
        return std::nullopt;
    }
    if (!member->is_number_integer()) {
        refuse(key, fmt::format("a whole number is needed, not {}",
                                member->is_number() ? "a fraction" : member->type_name()));
        return std::nullopt;
    }
    // A number that is not negative may be of either kind when it was not parsed from text.
    const bool negative = !member->is_number_unsigned() && member->get<std::int64_t>() < 0;
    const auto value = member->get<std::uint64_t>();
    if (negative || value > maximum) {
        refuse(key, fmt::format("not within 0 to {}", maximum));
        return std::nullopt;
    }
    return value;
}

bool JsonFields::is_list(const char* key, const nlohmann::json& value, std::size_t limit) {
    if (!value.is_array()) {
        refuse(key, fmt::format("an array is needed, not {}", value.type_name()));
    } else if (value.size() > limit) {
        refuse(key, fmt::format("{} entries; at most {} are allowed", value.size(), limit));
    } else {
        return true;
    }
    return false;
}

std::string JsonFields::pointer_to(std::string_view key) const {
    return fmt::format("{}/{}", pointer_, pointer_token(key));
}

void JsonFields::finish() {
    if (first_ || !object_.is_object()) {
        return;
    }
    for (const auto& [key, value] : object_.items()) {
        if (!taken_.contains(key)) {
            refuse(key, "unknown field");
            return;
        }
    }
}

} // namespace vgpu::xml
