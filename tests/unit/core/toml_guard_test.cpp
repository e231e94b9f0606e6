#include "agent/core/toml_guard.hpp"

#include <gtest/gtest.h>

namespace vgpu {
namespace {

std::string dotted(int parts) {
    std::string key = "a";
    for (int i = 1; i < parts; ++i) {
        key += ".a";
    }
    return key;
}

TEST(TomlGuard, LetsAnOrdinaryFileThrough) {
    EXPECT_FALSE(find_toml_hazard(""));
    EXPECT_FALSE(find_toml_hazard("# see 1.2.3.4.5.6.7.8.9.0.1.2.3.4.5.6.7.8.9\r\n[a.b]\n"
                                  "uri = \"\"\nname = ''\nb = \"say \\\" or # no more\"\n"));
}

TEST(TomlGuard, CountsNoDotsInsideOfStrings) {
    std::string list = "managed = [";
    for (int i = 0; i < 100; ++i) {
        list += R"("0000:41:00.4", '0000:41:00.5', )";
    }
    EXPECT_FALSE(find_toml_hazard(list + "]"));
}

TEST(TomlGuard, RefusesAKeyOfManyPartsAndNamesItsLine) {
    EXPECT_FALSE(find_toml_hazard(dotted(17) + " = 1"));
    const auto found = find_toml_hazard("a = 1\n\n" + dotted(18) + " = 1\n");
    ASSERT_TRUE(found);
    EXPECT_EQ(found->line, 3U);
    EXPECT_TRUE(find_toml_hazard("[" + dotted(18) + "]"));
}

TEST(TomlGuard, FindsAManyPartedKeyBehindQuotes) {
    std::string quoted;
    for (int i = 0; i < 18; ++i) {
        quoted += R"("x\"#,=".'y#\'.)";
    }
    EXPECT_TRUE(find_toml_hazard(quoted + "a = 1"));
    EXPECT_TRUE(find_toml_hazard("a = \"\\\\\"  \n b = 'x\\' \n" + dotted(18) + " = 1"));
}

TEST(TomlGuard, RefusesBytesBeyondAsciiOutsideOfStringsAndComments) {
    EXPECT_TRUE(find_toml_hazard("\xc3\xa9 = 1"));
    EXPECT_TRUE(find_toml_hazard("a = \xc2\xa0 1"));
    EXPECT_FALSE(find_toml_hazard("a = \"\xc3\xa9\" # \xc3\xa9\n'\xc3\xa9' = 1"));
    EXPECT_FALSE(find_toml_hazard("\xef\xbb\xbf"
                                  "a = 1"));
}

TEST(TomlGuard, RefusesStringsOfSeveralLines) {
    EXPECT_TRUE(find_toml_hazard("a = \"\"\"\n"));
    EXPECT_TRUE(find_toml_hazard("a = '''\n"));
}

TEST(TomlGuard, RefusesControlCharacters) {
    for (const char c : {'\0', '\x01', '\v', '\f', '\x1b', '\x7f'}) {
        EXPECT_TRUE(find_toml_hazard(std::string("# ") + c)) << static_cast<int>(c);
    }
    EXPECT_TRUE(find_toml_hazard("# a\rb = 1\n"));
    EXPECT_FALSE(find_toml_hazard("\ta = 1\r\n"));
}

} // namespace
} // namespace vgpu
