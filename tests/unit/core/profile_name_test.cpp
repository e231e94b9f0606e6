#include "agent/core/profile_name.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vgpu {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

struct Sample {
    const char* text;
    ProfileName name;
    std::uint32_t framebuffer_mib;
};

void PrintTo(const Sample& sample, std::ostream* out) {
    *out << sample.text;
}

class RealName : public testing::TestWithParam<Sample> {};

TEST_P(RealName, IsTakenApart) {
    const auto name = ProfileName::parse(GetParam().text);
    ASSERT_TRUE(name);
    EXPECT_EQ(name->board, GetParam().name.board);
    EXPECT_EQ(name->slices, GetParam().name.slices);
    EXPECT_EQ(name->gigabytes, GetParam().name.gigabytes);
    EXPECT_EQ(name->series, GetParam().name.series);
    EXPECT_EQ(name->suffix, GetParam().name.suffix);
    EXPECT_EQ(framebuffer_mib(GetParam().text), GetParam().framebuffer_mib);
}

INSTANTIATE_TEST_SUITE_P(
    Names, RealName,
    testing::Values(Sample{"NVIDIA L40S-4Q", {"L40S", 0, 4, 'Q', ""}, 4096},
                    Sample{"NVIDIA L40S-48A", {"L40S", 0, 48, 'A', ""}, 49152},
                    Sample{"NVIDIA A2-1B", {"A2", 0, 1, 'B', ""}, 1024},
                    Sample{"GRID P40-1Q", {"P40", 0, 1, 'Q', ""}, 1024},
                    Sample{"GRID P40-2B4", {"P40", 0, 2, 'B', "4"}, 2048},
                    Sample{"GRID P40-1B4", {"P40", 0, 1, 'B', "4"}, 1024},
                    Sample{"GRID T4-16Q", {"T4", 0, 16, 'Q', ""}, 16384},
                    Sample{"GRID A100D-40C", {"A100D", 0, 40, 'C', ""}, 40960},
                    Sample{"GRID M60-0Q", {"M60", 0, 0, 'Q', ""}, 512},
                    Sample{"GRID M10-0B", {"M10", 0, 0, 'B', ""}, 512},
                    Sample{"NVIDIA RTXA6000-4C", {"RTXA6000", 0, 4, 'C', ""}, 4096},
                    Sample{"RTX5000-Ada-4Q", {"RTX5000-Ada", 0, 4, 'Q', ""}, 4096},
                    Sample{"NVIDIA RTX6000-Ada-48C", {"RTX6000-Ada", 0, 48, 'C', ""}, 49152},
                    Sample{"A100-1-5C", {"A100", 1, 5, 'C', ""}, 5120},
                    Sample{"A100-1-5CME", {"A100", 1, 5, 'C', "ME"}, 5120},
                    Sample{"A100D-7-80C", {"A100D", 7, 80, 'C', ""}, 81920},
                    Sample{"A30-2-12CME", {"A30", 2, 12, 'C', "ME"}, 12288},
                    Sample{"NVIDIA H200X-141C", {"H200X", 0, 141, 'C', ""}, 144384},
                    Sample{"NVIDIA H200X-1-18C", {"H200X", 1, 18, 'C', ""}, 18432},
                    Sample{"NVIDIA RTX Pro 6000 Blackwell DC-3Q",
                           {"RTX Pro 6000 Blackwell DC", 0, 3, 'Q', ""},
                           3072},
                    Sample{"NVIDIA RTX Pro 6000 Blackwell DC-1-24CGFX",
                           {"RTX Pro 6000 Blackwell DC", 1, 24, 'C', "GFX"},
                           24576},
                    Sample{"DC-1-24CGFX", {"DC", 1, 24, 'C', "GFX"}, 24576},
                    Sample{"DC-1-24QMEALL", {"DC", 1, 24, 'Q', "MEALL"}, 24576},
                    Sample{"DC-1-24QNOME", {"DC", 1, 24, 'Q', "NOME"}, 24576},
                    Sample{"  nvidia  l40s-4q ", {"l40s", 0, 4, 'Q', ""}, 4096},
                    Sample{"NVIDIA Board-2000-8Q", {"Board-2000", 0, 8, 'Q', ""}, 8192},
                    Sample{"NVIDIA Board-0-8Q", {"Board-0", 0, 8, 'Q', ""}, 8192}));

TEST(ProfileName, IsNoneWhenItDoesNotFollowTheGrammar) {
    for (const char* text : {"",
                             " ",
                             "-",
                             "NVIDIA",
                             "NVIDIA ",
                             "nvidia-46",
                             "1150",
                             "L40S",
                             "L40S-",
                             "L40S-Q",
                             "L40S-4",
                             "L40S-4X",
                             "L40S-4Q_",
                             "L40S-4Q4x",
                             "L40S-4QVERYLONGX",
                             "-4Q",
                             "--4Q",
                             "-1-4Q",
                             "L40S--4Q",
                             "L40S-12345Q",
                             "L40S-4-Q",
                             "GRID K120Q",
                             "i915-GVTg_V5_4",
                             "NVIDIA -4Q",
                             "L40S -4Q",
                             "4Q",
                             "MI300X-1VF"}) {
        EXPECT_FALSE(ProfileName::parse(text)) << text;
        EXPECT_EQ(framebuffer_mib(text), 0U) << text;
    }
}

// bug report D8
TEST(NormalProfile, IsOneForAllSpellingsOfAName) {
    for (const char* text : {"GRID P40-1Q", "NVIDIA P40-1Q", "P40-1Q", "grid p40-1q",
                             "Nvidia  P40-1Q", "  P40-1Q\t", "NVIDIA GRID P40-1Q"}) {
        EXPECT_EQ(normal_profile(text), "p40-1q") << text;
    }
    EXPECT_EQ(normal_profile("NVIDIA RTX Pro  6000 Blackwell DC-3Q"),
              "rtx pro 6000 blackwell dc-3q");
}

TEST(NormalProfile, TakesAwayAPrefixOnlyBeforeASpace) {
    EXPECT_EQ(normal_profile("nvidia-46"), "nvidia-46");
    EXPECT_EQ(normal_profile("GRIDX-1Q"), "gridx-1q");
    EXPECT_EQ(normal_profile("NVIDIA"), "nvidia");
    EXPECT_EQ(normal_profile(" \t"), "");
}

TEST(RequestedTypeId, IsANumberAloneOrBehindNvidia) {
    EXPECT_EQ(requested_type_id("1150"), 1150U);
    EXPECT_EQ(requested_type_id(" 1150 "), 1150U);
    EXPECT_EQ(requested_type_id("nvidia-1150"), 1150U);
    EXPECT_EQ(requested_type_id("NVIDIA-1150"), 1150U);
    EXPECT_EQ(requested_type_id("4294967295"), 4294967295U);
}

TEST(RequestedTypeId, IsNoneForNamesAndForWhatNoIdCanBe) {
    for (const char* text :
         {"", "0", "nvidia-0", "nvidia-", "-1150", "+1150", "0x47e", "11 50", "1150Q", "i915-4",
          "4294967296", "99999999999999999999", "NVIDIA L40S-4Q"}) {
        EXPECT_FALSE(requested_type_id(text)) << text;
    }
}

const std::vector<VgpuType> l40s{
    {1147, "NVIDIA L40S-1Q"},  {1148, "NVIDIA L40S-2Q"},  {1149, "NVIDIA L40S-3Q"},
    {1150, "NVIDIA L40S-4Q"},  {1151, "NVIDIA L40S-6Q"},  {1152, "NVIDIA L40S-8Q"},
    {1153, "NVIDIA L40S-12Q"}, {1154, "NVIDIA L40S-16Q"}, {1155, "NVIDIA L40S-24Q"},
    {1156, "NVIDIA L40S-48Q"}, {1160, "NVIDIA L40S-4A"},  {2164, "NVIDIA L40S-3B"}};

TEST(FindType, FindsATypeByEverySpellingAndById) {
    for (const char* profile :
         {"NVIDIA L40S-4Q", "GRID L40S-4Q", "l40s-4q", " L40S-4Q", "1150", "nvidia-1150"}) {
        const auto type = find_type(profile, l40s);
        ASSERT_TRUE(type) << profile << ": " << type.error().text();
        EXPECT_EQ(*type, (VgpuType{1150, "NVIDIA L40S-4Q"}));
    }
}

TEST(FindType, TakesANumberAloneForAnIdAndNeverForAName) {
    const std::vector<VgpuType> odd{{7, "1150"}, {1150, "NVIDIA L40S-4Q"}};
    EXPECT_EQ(find_type("1150", odd).value().id, 1150U);
    EXPECT_FALSE(matches("1150", {7, "1150"}));
}

TEST(FindType, FindsATypeWithoutANameByItsDirectory) {
    // bug report D9: such an mdev type is named by its directory.
    EXPECT_EQ(find_type("nvidia-742", {{742, "nvidia-742"}, {743, "nvidia-743"}}).value().id, 742U);
}

// bug report D7
TEST(FindType, TellsBoardsApartThatShareTheirLastWord) {
    const std::vector<VgpuType> types{{1519, "NVIDIA RTX Pro 6000 Blackwell DC-3Q"},
                                      {2001, "NVIDIA RTX Pro 4500 Blackwell DC-3Q"}};
    EXPECT_EQ(find_type("RTX Pro 4500 Blackwell DC-3Q", types).value().id, 2001U);
    const auto type = find_type("DC-3Q", types);
    ASSERT_FALSE(type);
    EXPECT_EQ(type.error().code(), ErrorCode::not_found);
    EXPECT_THAT(type.error().text(),
                AllOf(HasSubstr("\"DC-3Q\""), HasSubstr("(1519)"), HasSubstr("(2001)")));
}

TEST(FindType, CountsRepeatedEntriesOnce) {
    const std::vector<VgpuType> twice{
        {46, "GRID P40-1Q"}, {46, "GRID P40-1Q"}, {46, "NVIDIA P40-1Q"}, {47, "GRID P40-2Q"}};
    EXPECT_EQ(find_type("P40-1Q", twice).value().id, 46U);
    EXPECT_EQ(find_type("46", twice).value().id, 46U);
}

TEST(FindType, ListsTheCandidatesOfAnAmbiguousRequest) {
    const std::vector<VgpuType> types{
        {46, "GRID P40-1Q"}, {1046, "NVIDIA P40-1Q"}, {47, "GRID P40-2Q"}};
    const auto type = find_type("p40-1q", types);
    ASSERT_FALSE(type);
    EXPECT_EQ(type.error().code(), ErrorCode::conflict);
    EXPECT_THAT(type.error().text(),
                AllOf(HasSubstr("GRID P40-1Q (46)"), HasSubstr("NVIDIA P40-1Q (1046)"),
                      Not(HasSubstr("P40-2Q"))));

    const auto by_id = find_type("9", {{9, "NVIDIA A2-1B"}, {9, "NVIDIA T4-1B"}});
    ASSERT_FALSE(by_id);
    EXPECT_EQ(by_id.error().code(), ErrorCode::conflict);
}

TEST(FindType, NamesTheNearestWhenNothingMatches) {
    const auto type = find_type("NVIDIA L40-4Q", l40s);
    ASSERT_FALSE(type);
    EXPECT_EQ(type.error().code(), ErrorCode::not_found);
    EXPECT_THAT(type.error().text(),
                AllOf(HasSubstr("\"NVIDIA L40-4Q\""), HasSubstr("12 looked at"),
                      HasSubstr("nearest: NVIDIA L40S-4Q (1150)"), Not(HasSubstr("L40S-16Q"))));
    EXPECT_THAT(find_type("2163", l40s).error().text(),
                HasSubstr("nearest: NVIDIA L40S-3B (2164)"));
}

TEST(FindType, SaysThatThereWasNothingToChooseFrom) {
    const auto type = find_type("NVIDIA L40S-4Q", {});
    ASSERT_FALSE(type);
    EXPECT_EQ(type.error().code(), ErrorCode::not_found);
    EXPECT_THAT(type.error().text(), HasSubstr("no types to choose from"));
}

TEST(FindType, NeverMatchesAnEmptyRequest) {
    for (const char* profile : {"", " ", "NVIDIA ", "0"}) {
        EXPECT_FALSE(find_type(profile, {{1, ""}, {2, "NVIDIA L40S-2Q"}})) << profile;
    }
}

TEST(FindType, SurvivesAHugeRequestAndHugeNames) {
    const std::string huge(200000, 'x');
    const auto type = find_type(huge, {{1, huge + "y"}, {2, "NVIDIA L40S-2Q"}});
    ASSERT_FALSE(type);
    EXPECT_LT(type.error().text().size(), 1000U);
}

} // namespace
} // namespace vgpu
