#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace vgpu::cli {

/// How a word is to be felt by the reader; a colour on a terminal, nothing elsewhere.
enum class Tone { plain, good, warning, bad };

struct Cell {
    std::string text;
    Tone tone = Tone::plain;
};

/// A table for people: a row of titles, columns as wide as their widest cell, two spaces between,
/// nothing cut, no blanks at the ends of lines.
class Table {
public:
    enum class Align { left, right };
    struct Column {
        std::string title;
        Align align = Align::left;
    };

    explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

    /// One cell per column, in their order; missing ones are empty.
    void add(std::vector<Cell> row);
    [[nodiscard]] bool empty() const { return rows_.empty(); }
    [[nodiscard]] std::string text(bool colour) const;

private:
    std::vector<Column> columns_;
    std::vector<std::vector<Cell>> rows_;
};

/// How many columns of a terminal a UTF-8 text takes, near enough: characters, without those that
/// combine with the one before.
[[nodiscard]] std::size_t width_of(std::string_view text);

/// `text` between the escape sequences of its tone, if colour is wanted.
[[nodiscard]] std::string toned(std::string_view text, Tone tone, bool colour);

/// Text from outside (names of domains, of processes) made fit for one cell: no control characters,
/// nothing cut. An empty one is "-".
[[nodiscard]] std::string cell_text(std::string_view text);

} // namespace vgpu::cli
