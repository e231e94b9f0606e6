#include "agent/core/catalogue_memory.hpp"
#include "tests/unit/core/test_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace vgpu {
namespace {

using test::TestFiles;
using testing::ElementsAre;
using testing::HasSubstr;

const std::string l40s = "10de:26b9:10de:1851";
const std::string a2 = "10de:25b6:10de:157e";

class CatalogueMemoryTest : public testing::Test {
protected:
    Result<CatalogueMemory> load() const { return CatalogueMemory::load(path_); }

    TestFiles dir_;
    std::string path_ = dir_.path("catalogue.json");
    CatalogueMemory memory_;
};

TEST_F(CatalogueMemoryTest, IsEmptyWithoutAFile) {
    const auto memory = load();
    ASSERT_TRUE(memory);
    EXPECT_TRUE(memory->types(l40s).empty());
    EXPECT_FALSE(memory->name(l40s, 1150));
    EXPECT_FALSE(memory->changed());
}

TEST_F(CatalogueMemoryTest, RemembersTypesThatAreNoLongerOffered) {
    memory_.learn(l40s, {{1150, "NVIDIA L40S-4Q"}, {1148, "NVIDIA L40S-2Q"}});
    memory_.learn(l40s, {{1150, "NVIDIA L40S-4Q"}});
    memory_.learn(l40s, {});
    EXPECT_THAT(memory_.types(l40s),
                ElementsAre(VgpuType{1148, "NVIDIA L40S-2Q"}, VgpuType{1150, "NVIDIA L40S-4Q"}));
    EXPECT_EQ(memory_.name(l40s, 1148), "NVIDIA L40S-2Q");
    EXPECT_FALSE(memory_.name(l40s, 1149));
}

TEST_F(CatalogueMemoryTest, KeepsModelsApart) {
    memory_.learn(l40s, {{1150, "NVIDIA L40S-4Q"}});
    memory_.learn(a2, {{742, "NVIDIA A2-1B"}});
    EXPECT_FALSE(memory_.name(a2, 1150));
    EXPECT_THAT(memory_.types(a2), ElementsAre(VgpuType{742, "NVIDIA A2-1B"}));
}

TEST_F(CatalogueMemoryTest, IsTheSameAfterSaveAndLoad) {
    memory_.learn(l40s, {{1150, "NVIDIA L40S-4Q"}, {4294967295U, "a \"quoted\\ name"}});
    memory_.learn(a2, {{742, "NVIDIA A2-1B"}});
    EXPECT_TRUE(memory_.changed());
    ASSERT_TRUE(memory_.save(path_));
    EXPECT_FALSE(memory_.changed());

    const auto loaded = load();
    ASSERT_TRUE(loaded) << loaded.error().text();
    EXPECT_EQ(loaded->types(l40s), memory_.types(l40s));
    EXPECT_EQ(loaded->types(a2), memory_.types(a2));
    EXPECT_FALSE(loaded->changed());
}

TEST_F(CatalogueMemoryTest, ReadsTheDocumentedForm) {
    dir_.write(
        "catalogue.json",
        R"({"version":1,"models":{"10de:26b9:10de:1851":[{"id":1150,"name":"NVIDIA L40S-4Q"}]}})");
    EXPECT_EQ(load().value().name(l40s, 1150), "NVIDIA L40S-4Q");
}

TEST_F(CatalogueMemoryTest, ChangesOnlyWhenThereIsSomethingNew) {
    memory_.learn(l40s, {{1150, "NVIDIA L40S-4Q"}});
    ASSERT_TRUE(memory_.save(path_));
    memory_.learn(l40s, {{1150, "NVIDIA L40S-4Q"}});
    memory_.learn(a2, {});
    EXPECT_FALSE(memory_.changed());
    memory_.learn(l40s, {{1151, "NVIDIA L40S-6Q"}});
    EXPECT_TRUE(memory_.changed());
}

TEST_F(CatalogueMemoryTest, StaysChangedWhenItCannotBeSaved) {
    memory_.learn(l40s, {{1150, "NVIDIA L40S-4Q"}});
    EXPECT_FALSE(memory_.save(dir_.path("missing/catalogue.json")));
    EXPECT_TRUE(memory_.changed());
}

TEST_F(CatalogueMemoryTest, ForgetsAnIdThatANewDriverGaveToAnotherName) {
    memory_.learn(l40s, {{1150, "NVIDIA L40S-4Q"}, {1151, "NVIDIA L40S-6Q"}});
    memory_.learn(l40s, {{1150, "NVIDIA L40S-8Q"}});
    EXPECT_THAT(memory_.types(l40s),
                ElementsAre(VgpuType{1150, "NVIDIA L40S-8Q"}, VgpuType{1151, "NVIDIA L40S-6Q"}));
}

TEST_F(CatalogueMemoryTest, ForgetsTheOldIdOfANameThatANewDriverRenumbered) {
    memory_.learn(l40s, {{1150, "NVIDIA L40S-4Q"}, {1151, "NVIDIA L40S-6Q"}});
    memory_.learn(l40s, {{2150, "NVIDIA L40S-4Q"}});
    EXPECT_THAT(memory_.types(l40s),
                ElementsAre(VgpuType{1151, "NVIDIA L40S-6Q"}, VgpuType{2150, "NVIDIA L40S-4Q"}));
}

TEST_F(CatalogueMemoryTest, LeavesOutWhatNoTypeCanBe) {
    memory_.learn(l40s, {{0, "NVIDIA L40S-4Q"},
                         {1, ""},
                         {2, std::string(97, 'x')},
                         {3, "line\nbreak"},
                         {4, "not \xff UTF-8"},
                         {5, std::string(96, 'x')}});
    memory_.learn("", {{1, "x"}});
    memory_.learn("10de\n", {{1, "x"}});
    EXPECT_THAT(memory_.types(l40s), ElementsAre(VgpuType{5, std::string(96, 'x')}));
    ASSERT_TRUE(memory_.save(path_));
    EXPECT_EQ(load().value().types(l40s), memory_.types(l40s));
}

TEST_F(CatalogueMemoryTest, OfTheLargestSizeCanBeLoadedAgain) {
    for (std::uint32_t model = 0; model < 40; ++model) {
        std::vector<VgpuType> types;
        for (std::uint32_t i = 1; i <= 600; ++i) {
            std::string name(90, '"');
            types.push_back({4294960000U + i, name + std::to_string(i)});
        }
        memory_.learn("model" + std::to_string(model), types);
    }
    ASSERT_TRUE(memory_.save(path_));
    const auto loaded = load();
    ASSERT_TRUE(loaded) << loaded.error().text();
    EXPECT_EQ(loaded->types("model31").size(), 512U);
    EXPECT_TRUE(loaded->types("model32").empty());
}

class BrokenCatalogue : public testing::TestWithParam<std::string> {};

TEST_P(BrokenCatalogue, IsCorruptAndNamesTheFile) {
    const TestFiles dir;
    const std::string path = dir.write("catalogue.json", GetParam());
    const auto memory = CatalogueMemory::load(path);
    ASSERT_FALSE(memory);
    EXPECT_EQ(memory.error().code(), ErrorCode::corrupt);
    EXPECT_THAT(memory.error().text(), HasSubstr(path));
}

INSTANTIATE_TEST_SUITE_P(
    Files, BrokenCatalogue,
    testing::Values("", "{", "null", "[]", "{}", "\xff\xfe", std::string(3, '\0'),
                    R"({"version":1})", R"({"version":2,"models":{}})",
                    R"({"version":"1","models":{}})", R"({"version":1,"models":[]})",
                    R"({"version":1,"models":{"m":{}}})", R"({"version":1,"models":{"":[]}})",
                    R"({"version":1,"models":{"m":[1]}})", R"({"version":1,"models":{"m":[{}]}})",
                    R"({"version":1,"models":{"m":[{"id":1}]}})",
                    R"({"version":1,"models":{"m":[{"id":"1","name":"x"}]}})",
                    R"({"version":1,"models":{"m":[{"id":-1,"name":"x"}]}})",
                    R"({"version":1,"models":{"m":[{"id":1.5,"name":"x"}]}})",
                    R"({"version":1,"models":{"m":[{"id":0,"name":"x"}]}})",
                    R"({"version":1,"models":{"m":[{"id":4294967296,"name":"x"}]}})",
                    R"({"version":1,"models":{"m":[{"id":1,"name":1}]}})",
                    R"({"version":1,"models":{"m":[{"id":1,"name":""}]}})",
                    R"({"version":1,"models":{"m":[{"id":1,"name":"a\u0000b"}]}})",
                    R"({"version":1,"models":{}} trailing)", std::string(1000000, '['),
                    std::string(5 * 1024 * 1024, ' ')));

TEST_F(CatalogueMemoryTest, TellsAFileThatCannotBeReadFromABrokenOne) {
    std::filesystem::create_directory(path_);
    const auto memory = load();
    ASSERT_FALSE(memory);
    EXPECT_NE(memory.error().code(), ErrorCode::corrupt);
}

} // namespace
} // namespace vgpu
