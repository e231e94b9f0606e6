#include "agent/core/catalogue.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vgpu {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<VgpuType> types_in(std::string_view text) {
    auto types = parse_creatable_types(text);
    EXPECT_TRUE(types) << types.error().text();
    return types ? *std::move(types) : std::vector<VgpuType>();
}

TEST(CreatableTypes, OfTheFormWithAHeaderHaveIdAndWholeName) {
    EXPECT_THAT(types_in("ID    : vGPU Name\n"
                         "1145  : NVIDIA L40S-1B\n"
                         "2164  : NVIDIA L40S-3B\n"
                         "1150  : NVIDIA L40S-4Q\n"),
                ElementsAre(VgpuType{1145, "NVIDIA L40S-1B"}, VgpuType{2164, "NVIDIA L40S-3B"},
                            VgpuType{1150, "NVIDIA L40S-4Q"}));
}

TEST(CreatableTypes, NeedNoHeaderAndNoPadding) {
    EXPECT_THAT(
        types_in("1428 : NVIDIA H200X-141C\n1414 : NVIDIA H200X-1-18C"),
        ElementsAre(VgpuType{1428, "NVIDIA H200X-141C"}, VgpuType{1414, "NVIDIA H200X-1-18C"}));
}

TEST(CreatableTypes, MayHaveTheNameFirstAndTheIdLast) {
    EXPECT_THAT(types_in("NVIDIA L40S-1Q           1147\n"
                         "NVIDIA RTX Pro 6000 Blackwell DC-3Q 1519\n"
                         "GRID P40-2B4\t46\n"),
                ElementsAre(VgpuType{1147, "NVIDIA L40S-1Q"},
                            VgpuType{1519, "NVIDIA RTX Pro 6000 Blackwell DC-3Q"},
                            VgpuType{46, "GRID P40-2B4"}));
}

// bug report D7
TEST(CreatableTypes, OfTwoBoardsWithOneLastWordStayApart) {
    EXPECT_THAT(types_in("1519  : NVIDIA RTX Pro 6000 Blackwell DC-3Q\n"
                         "2001  : NVIDIA RTX Pro 4500 Blackwell DC-3Q\n"),
                ElementsAre(VgpuType{1519, "NVIDIA RTX Pro 6000 Blackwell DC-3Q"},
                            VgpuType{2001, "NVIDIA RTX Pro 4500 Blackwell DC-3Q"}));
}

TEST(CreatableTypes, AreSplitAtTheFirstColonOnly) {
    EXPECT_THAT(types_in("7 : a : b"), ElementsAre(VgpuType{7, "a : b"}));
}

// bug report D35
TEST(CreatableTypes, OfAFullCardAreNone) {
    EXPECT_TRUE(types_in("").empty());
    EXPECT_TRUE(types_in("\n").empty());
    EXPECT_TRUE(types_in("ID    : vGPU Name\n").empty());
    EXPECT_TRUE(types_in("ID : vGPU Name").empty());
}

TEST(CreatableTypes, MayBePaddedAndHaveEmptyRowsAndCarriageReturns) {
    EXPECT_THAT(types_in("\r\n  ID: vGPU Name \r\n\r\n   1:x-1Q\r\n\n 2   :   y  z-2Q   \r\n"),
                ElementsAre(VgpuType{1, "x-1Q"}, VgpuType{2, "y  z-2Q"}));
}

TEST(CreatableTypes, TakeEveryIdOfThirtyTwoBits) {
    EXPECT_THAT(types_in("4294967295 : x-1Q\n"), ElementsAre(VgpuType{4294967295U, "x-1Q"}));
}

class WrongRow : public testing::TestWithParam<const char*> {};

TEST_P(WrongRow, IsAnErrorThatNamesIt) {
    const auto types = parse_creatable_types("ID    : vGPU Name\n1145  : NVIDIA L40S-1B\n" +
                                             std::string(GetParam()) + "\n");
    ASSERT_FALSE(types);
    EXPECT_EQ(types.error().code(), ErrorCode::invalid);
    EXPECT_THAT(types.error().text(), HasSubstr("\"" + std::string(GetParam()) + "\""));
}

INSTANTIATE_TEST_SUITE_P(
    Rows, WrongRow,
    testing::Values("1146", "1146 :", ": NVIDIA L40S-2B", ":", "x1146 : NVIDIA L40S-2B",
                    "0x47a : NVIDIA L40S-2B", "-5 : NVIDIA L40S-2B", "+5 : NVIDIA L40S-2B",
                    "11 46 : NVIDIA L40S-2B", "4294967296 : NVIDIA L40S-2B", "0 : NVIDIA L40S-2B",
                    "NVIDIA L40S-2B : 1146", "1146 NVIDIA L40S-2B", "NVIDIA", "NVIDIA L40S-2B",
                    "1146 1147", "1146 : 1147", "NVIDIA L40S-2B 0", "NVIDIA L40S-2B 99999999999"));

TEST(CreatableTypes, OfABinaryFileAreAnErrorOfOneLine) {
    const auto types = parse_creatable_types(std::string_view("1 : a\0b\x1b[2J\n", 12));
    ASSERT_FALSE(types);
    EXPECT_THAT(types.error().text(), HasSubstr("\"1 : a?b?[2J\""));
}

TEST(CreatableTypes, WithAHugeNameAreAnErrorOfBoundedLength) {
    EXPECT_TRUE(parse_creatable_types("1 : " + std::string(256, 'x')));
    const auto types = parse_creatable_types("1 : " + std::string(60000, 'x'));
    ASSERT_FALSE(types);
    EXPECT_LT(types.error().text().size(), 500U);
}

TEST(DescriptionFramebuffer, IsTheNumberOfMebibytes) {
    EXPECT_EQ(description_framebuffer_mib(
                  "num_heads=4, frl_config=45, framebuffer=1024M, max_resolution=5120x2880, "
                  "max_instance=16"),
              1024U);
    EXPECT_EQ(description_framebuffer_mib("framebuffer=49152M"), 49152U);
    EXPECT_EQ(description_framebuffer_mib("num_heads=4,framebuffer=512M\n"), 512U);
}

// bug report D9
TEST(DescriptionFramebuffer, IsNoughtWhenTheDescriptionDoesNotSay) {
    for (const char* text :
         {"", ",", "num_heads=4", "framebuffer=", "framebuffer=M", "framebuffer=x1024M",
          "framebuffer=-1M", "framebuffer=1024", "max_framebuffer=1024M",
          "framebuffer=99999999999M", "low_gm_size: 128MB\nhigh_gm_size: 512MB"}) {
        EXPECT_EQ(description_framebuffer_mib(text), 0U) << text;
    }
}

} // namespace
} // namespace vgpu
