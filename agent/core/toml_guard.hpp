#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace vgpu {

/// What is wrong in a text, and on which line, counted from 1.
struct TextProblem {
    unsigned line = 0;
    std::string text;
};

/// Finds what must not reach toml++ 3.3, nullopt if there is nothing:
/// - more than 16 dots outside of strings and comments on a line: it makes a table within a table
/// for
///   each part of a dotted key and destroys them by recursion; 1 MiB of "a.a.a..." overflows the
///   stack;
/// - bytes beyond ASCII outside of strings and comments, which are errors anyway: its test for odd
///   spaces has no defined answer for some letters, e.g. U+00E9;
/// - strings of several lines, without which each line can be looked at alone; control characters.
[[nodiscard]] std::optional<TextProblem> find_toml_hazard(std::string_view text);

} // namespace vgpu
