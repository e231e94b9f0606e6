#pragma once

#include "agent/core/result.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace vgpu::cli {

using Json = nlohmann::ordered_json;

/// An answer of virt-vgpud, with its members in the order sent. Error: `io` if it is no JSON, names
/// a member twice or is nested too deeply.
[[nodiscard]] Result<Json> parse_answer(std::string_view text);

/// Members of what may be anything: another version of the daemon knows other fields. None of these
/// fails; what is absent or of another kind is null, "", 0, false or an empty list.
[[nodiscard]] const Json& member(const Json& object, const char* name);
[[nodiscard]] std::string text_member(const Json& object, const char* name);
[[nodiscard]] std::int64_t number_member(const Json& object, const char* name);
[[nodiscard]] bool flag_member(const Json& object, const char* name);
[[nodiscard]] const Json& list_member(const Json& object, const char* name);

/// For programs, two blanks deep; ASCII only, so that a terminal shows it without obeying it.
[[nodiscard]] std::string written(const Json& json);
/// The same on one line.
[[nodiscard]] std::string written_line(const Json& json);

} // namespace vgpu::cli
