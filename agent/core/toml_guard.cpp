#include "agent/core/toml_guard.hpp"

#include <algorithm>
#include <utility>

namespace vgpu {

namespace {

constexpr int most_dots = 16;
/// What some editors put before a text; toml++ skips it.
constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

class LineCheck {
public:
    explicit LineCheck(std::string_view line) : line_(line) {}

    std::optional<std::string> run() {
        for (; at_ < line_.size() && line_[at_] != '#'; ++at_) {
            const char c = line_[at_];
            if (c == '"' || c == '\'') {
                if (line_.substr(at_, 3) == std::string(3, c)) {
                    return "strings of several lines are not allowed";
                }
                skip_string(c);
            } else if (c == '.' && ++dots_ > most_dots) {
                return "a key with too many dots";
            } else if (static_cast<unsigned char>(c) >= 0x80) {
                return "only quoted text and comments may have characters beyond ASCII";
            }
        }
        return std::nullopt;
    }

private:
    /// Leaves `at_` on the closing quote, or at the end: toml++ refuses a string without one.
    void skip_string(char quote) {
        for (++at_; at_ < line_.size() && line_[at_] != quote; ++at_) {
            if (quote == '"' && line_[at_] == '\\') {
                ++at_;
            }
        }
    }

    std::string_view line_;
    std::size_t at_ = 0;
    int dots_ = 0;
};

std::optional<std::string> unparsable(std::string_view line) {
    if (line.ends_with('\r')) {
        line.remove_suffix(1);
    }
    const auto control = std::find_if(line.begin(), line.end(), [](char c) {
        return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f;
    });
    if (control != line.end()) {
        return "a control character: this is no text file";
    }
    return LineCheck(line).run();
}

} // namespace

std::optional<TextProblem> find_toml_hazard(std::string_view text) {
    if (text.starts_with(byte_order_mark)) {
        text.remove_prefix(byte_order_mark.size());
    }
    for (unsigned line = 1; !text.empty(); ++line) {
        const auto end = std::min(text.find('\n'), text.size());
        if (auto found = unparsable(text.substr(0, end))) {
            return TextProblem{line, *std::move(found)};
        }
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return std::nullopt;
}

} // namespace vgpu
