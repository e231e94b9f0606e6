#pragma once

#include "agent/core/error.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace vgpu::xml {

/// The members of one JSON object, each taken once; what is left over is unknown. The first error
/// of a whole document is kept in one place, so that reading needs no check after every field.
class JsonFields {
public:
    /// `pointer` names the object: "" for the whole document, or "/gpus/0".
    JsonFields(const nlohmann::json& object, std::string pointer, std::optional<Error>& first);

    void text(const char* key, std::string& value);
    void flag(const char* key, bool& value);
    template <typename Number>
    void number(const char* key, Number& value) {
        constexpr std::uint64_t maximum = std::numeric_limits<Number>::max();
        if (const auto read = whole_number(key, maximum)) {
            value = static_cast<Number>(*read);
        }
    }
    void number(const char* key, std::optional<std::uint32_t>& value);
    /// `value` becomes what parse(text) returns, a Result.
    template <typename T, typename Parse>
    void parsed(const char* key, std::optional<T>& value, Parse parse) {
        std::string text_value;
        text(key, text_value);
        if (!has(key) || first_.has_value()) {
            return;
        }
        auto result = parse(text_value);
        if (result) {
            value = *result;
        } else {
            refuse(key, result.error().text());
        }
    }
    /// Calls read(JsonFields&, index) for each object of an array of at most `limit`.
    template <typename Read>
    void list(const char* key, std::size_t limit, Read read) {
        const nlohmann::json* array = take(key);
        if (array == nullptr || !is_list(key, *array, limit)) {
            return;
        }
        for (std::size_t i = 0; i < array->size() && !first_; ++i) {
            JsonFields fields((*array)[i], pointer_to(key) + "/" + std::to_string(i), first_);
            read(fields, i);
            fields.finish();
        }
    }
    /// Calls read(JsonFields&) for an object.
    template <typename Read>
    void object(const char* key, Read read) {
        if (const nlohmann::json* value = take(key)) {
            JsonFields fields(*value, pointer_to(key), first_);
            read(fields);
            fields.finish();
        }
    }

    [[nodiscard]] bool has(const char* key) const;
    void refuse(std::string_view key, std::string_view what);
    /// Complains of a member that nobody has taken.
    void finish();

private:
    [[nodiscard]] const nlohmann::json* take(const char* key);
    [[nodiscard]] std::optional<std::uint64_t> whole_number(const char* key, std::uint64_t maximum);
    [[nodiscard]] bool is_list(const char* key, const nlohmann::json& value, std::size_t limit);
    [[nodiscard]] std::string pointer_to(std::string_view key) const;

    const nlohmann::json& object_;
    std::string pointer_;
    std::optional<Error>& first_;
    std::set<std::string_view> taken_;
};

} // namespace vgpu::xml
