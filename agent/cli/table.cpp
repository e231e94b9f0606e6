#include "agent/cli/table.hpp"

#include "agent/core/error.hpp"

#include <algorithm>
#include <utility>

namespace vgpu::cli {

namespace {

/// The code points of the common combining blocks and of characters without a width.
bool takes_no_column(char32_t c) {
    return (c >= 0x300 && c <= 0x36f) || (c >= 0x1ab0 && c <= 0x1aff) ||
           (c >= 0x200b && c <= 0x200f) || (c >= 0x20d0 && c <= 0x20ff) ||
           (c >= 0xfe00 && c <= 0xfe0f);
}

/// Scripts and pictures that terminals draw two columns wide.
bool takes_two_columns(char32_t c) {
    return (c >= 0x1100 && c <= 0x115f) || (c >= 0x2e80 && c <= 0xa4cf) ||
           (c >= 0xac00 && c <= 0xd7a3) || (c >= 0xf900 && c <= 0xfaff) ||
           (c >= 0xff00 && c <= 0xff60) || (c >= 0x1f300 && c <= 0x1faff);
}

std::size_t width_of_code_point(char32_t c) {
    if (takes_no_column(c)) {
        return 0;
    }
    return takes_two_columns(c) ? 2 : 1;
}

std::string_view escape_of(Tone tone) {
    switch (tone) {
    case Tone::good:
        return "\033[32m";
    case Tone::warning:
        return "\033[33m";
    case Tone::bad:
        return "\033[31m";
    case Tone::plain:
        break;
    }
    return {};
}

} // namespace

std::size_t width_of(std::string_view text) {
    std::size_t width = 0;
    for (std::size_t at = 0; at < text.size();) {
        const auto first = static_cast<unsigned char>(text[at++]);
        char32_t c = first;
        if (first >= 0xc0) {
            c = first >= 0xf0 ? first & 0x07U : first >= 0xe0 ? first & 0x0fU : first & 0x1fU;
            while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0U) == 0x80U) {
                c = (c << 6U) | (static_cast<unsigned char>(text[at++]) & 0x3fU);
            }
        }
        width += width_of_code_point(c);
    }
    return width;
}

std::string toned(std::string_view text, Tone tone, bool colour) {
    const std::string_view escape = escape_of(tone);
    if (!colour || escape.empty()) {
        return std::string(text);
    }
    return std::string(escape).append(text).append("\033[0m");
}

std::string cell_text(std::string_view text) {
    return text.empty() ? "-" : printable(text, text.size());
}

void Table::add(std::vector<Cell> row) {
    row.resize(columns_.size());
    rows_.push_back(std::move(row));
}

std::string Table::text(bool colour) const {
    std::vector<std::vector<Cell>> lines;
    lines.emplace_back();
    for (const Column& column : columns_) {
        lines.front().push_back({column.title, Tone::plain});
    }
    lines.insert(lines.end(), rows_.begin(), rows_.end());

    std::vector<std::size_t> widths(columns_.size(), 0);
    for (const auto& line : lines) {
        for (std::size_t i = 0; i < line.size(); ++i) {
            widths[i] = std::max(widths[i], width_of(line[i].text));
        }
    }
    std::string out;
    for (const auto& line : lines) {
        std::string pending; // blanks that are written only if something follows
        for (std::size_t i = 0; i < line.size(); ++i) {
            const std::string blanks(widths[i] - width_of(line[i].text), ' ');
            if (columns_[i].align == Align::right) {
                pending += blanks;
            }
            if (!line[i].text.empty()) {
                out += std::exchange(pending, {}) + toned(line[i].text, line[i].tone, colour);
            }
            pending += (columns_[i].align == Align::left ? blanks : std::string()) + "  ";
        }
        out += '\n';
    }
    return out;
}

} // namespace vgpu::cli
