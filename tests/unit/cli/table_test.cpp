#include "agent/cli/table.hpp"

#include <gtest/gtest.h>

namespace vgpu::cli {

TEST(Table, AlignsColumnsByTheirWidestCellAndLeavesNoBlanksAtLineEnds) {
    Table table({{"NAME"}, {"COUNT", Table::Align::right}, {"LAST"}});
    table.add({{"a"}, {"1000000"}, {"x"}});
    table.add({{"a long name"}, {"2"}, {""}});
    EXPECT_EQ(table.text(false), "NAME           COUNT  LAST\n"
                                 "a            1000000  x\n"
                                 "a long name        2\n");
}

TEST(Table, CountsCharactersAndNotBytes) {
    Table table({{"NAME"}, {"X"}});
    table.add({{"größe"}, {"1"}});
    table.add({{"plain"}, {"2"}});
    EXPECT_EQ(table.text(false), "NAME   X\n"
                                 "größe  1\n"
                                 "plain  2\n");
}

TEST(Table, CountsWideAndCombiningCharacters) {
    EXPECT_EQ(width_of("機械"), 4U);
    EXPECT_EQ(width_of("e\u0301"), 1U);
    EXPECT_EQ(width_of("abc"), 3U);
}

TEST(Table, SurvivesBytesThatAreNoUtf8) {
    Table table({{"NAME"}, {"X"}});
    table.add({{"\xff\xc3"}, {"1"}});
    EXPECT_NE(table.text(false).find('1'), std::string::npos);
}

TEST(Table, ColoursOnlyWhenAsked) {
    Table table({{"STATE"}});
    table.add({{"free", Tone::good}});
    EXPECT_EQ(table.text(false), "STATE\nfree\n");
    EXPECT_EQ(table.text(true), "STATE\n\033[32mfree\033[0m\n");
}

TEST(Table, AlignsColouredCellsLikePlainOnes) {
    Table table({{"STATE"}, {"X"}});
    table.add({{"free", Tone::good}, {"1"}});
    table.add({{"configured"}, {"2"}});
    EXPECT_EQ(table.text(true), "STATE       X\n"
                                "\033[32mfree\033[0m        1\n"
                                "configured  2\n");
}

TEST(Table, FillsInMissingCells) {
    Table table({{"A"}, {"B"}});
    table.add({{"only"}});
    EXPECT_EQ(table.text(false), "A     B\nonly\n");
}

TEST(CellText, MakesControlCharactersVisibleAndCutsNothing) {
    EXPECT_EQ(cell_text("a\nb\033[31m"), "a?b?[31m");
    EXPECT_EQ(cell_text(std::string(1000, 'x')).size(), 1000U);
    EXPECT_EQ(cell_text(""), "-");
}

} // namespace vgpu::cli
