#include "agent/core/config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vgpu {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

struct Wrong {
    const char* text;
    unsigned line;
    const char* says;
};

void PrintTo(const Wrong& wrong, std::ostream* out) {
    *out << wrong.text;
}

class WrongConfig : public testing::TestWithParam<Wrong> {};

TEST_P(WrongConfig, NamesFileAndLineAndWhatIsWrong) {
    const auto config = parse_config(GetParam().text, "/etc/v.toml");
    ASSERT_FALSE(config);
    EXPECT_EQ(config.error().code(), ErrorCode::invalid);
    EXPECT_THAT(config.error().text(),
                StartsWith("/etc/v.toml:" + std::to_string(GetParam().line) + ": "));
    EXPECT_THAT(config.error().text(), HasSubstr(GetParam().says));
}

INSTANTIATE_TEST_SUITE_P(
    Names, WrongConfig,
    testing::Values(
        Wrong{"\n[hook]\ndeadlin = '5s'", 3,
              "unknown key `hook.deadlin`; known keys there: deadline, release_budget"},
        Wrong{"[mdev]\nx = 1", 2, "unknown key `mdev.x`; known keys there: self_removal"},
        Wrong{"[hooks]\ndeadline = '5s'", 1,
              "unknown table `hooks`; known tables: paths, gpus, hook, mdev, libvirt, api, "
              "reconcile"},
        Wrong{"\ndeadline = '5s'", 2, "unknown key `deadline`; known tables: paths, gpus"},
        Wrong{"hook = 1", 1, "`hook` is a table: write [hook]"},
        Wrong{"[[hook]]\ndeadline = '5s'", 1, "`hook` is a table"},
        Wrong{"[hook.deadline]\nx = 1", 1, "`hook.deadline`: expected a duration"},
        Wrong{"[paths]\nsysfs = '/a'\nsysfs = '/b'", 3, ""}, Wrong{"[hook]\n[hook]", 2, ""},
        Wrong{"[a]\nb = 1\n[hook]\ndeadline = 5\n", 1, "unknown table `a`"},
        Wrong{"[reconcile]\ninterval = 5\n[a]\n", 2, "`reconcile.interval`: expected a duration"}));

INSTANTIATE_TEST_SUITE_P(
    Paths, WrongConfig,
    testing::Values(Wrong{"paths.state = 'var/lib'", 1,
                          "`paths.state`: \"var/lib\" is no absolute path"},
                    Wrong{"paths.state = ''", 1, "is no absolute path"},
                    Wrong{"paths.state = 7", 1, "`paths.state`: expected an absolute path"},
                    Wrong{"paths.state = ['/a']", 1, "expected an absolute path in quotes"},
                    Wrong{"paths.state = \"/a\\u0000b\"", 1, "control characters"},
                    Wrong{"paths.state = \"/a\\nb\"", 1, "control characters"}));

INSTANTIATE_TEST_SUITE_P(
    Durations, WrongConfig,
    testing::Values(Wrong{"hook.deadline = 20", 1, "expected a duration with its unit"},
                    Wrong{"hook.deadline = '20'", 1, "\"20\" is no duration"},
                    Wrong{"hook.deadline = '20 s'", 1, "is no duration"},
                    Wrong{"hook.deadline = '-20s'", 1, "is no duration"},
                    Wrong{"hook.deadline = '-0s'", 1, "is no duration"},
                    Wrong{"hook.deadline = '+20s'", 1, "is no duration"},
                    Wrong{"hook.deadline = '1.5s'", 1, "is no duration"},
                    Wrong{"hook.deadline = '20sec'", 1, "is no duration"},
                    Wrong{"hook.deadline = '20S'", 1, "is no duration"},
                    Wrong{"hook.deadline = 's'", 1, "is no duration"},
                    Wrong{"hook.deadline = ''", 1, "is no duration"},
                    Wrong{"hook.deadline = '99999999999s'", 1, "is no duration"},
                    Wrong{"hook.deadline = '2147483647h'", 1, "out of range: 1ms to 1h"},
                    Wrong{"hook.deadline = '0s'", 1, "out of range"},
                    Wrong{"hook.deadline = 'auto'", 1, "is no duration"},
                    Wrong{"hook.deadline = '10m'", 1, "must be less than 600s"},
                    Wrong{"hook.release_budget = '30s'", 1,
                          "`hook.release_budget`: \"30s\" is too long: it must be less than 30s"},
                    Wrong{"reconcile.interval = '3600001ms'", 1, "out of range"},
                    Wrong{"reconcile.interval = '2h'", 1, "out of range"},
                    Wrong{"mdev.self_removal = 'never'", 1, "\"auto\" and \"0s\" are allowed"},
                    Wrong{"mdev.self_removal = 0", 1, "expected a duration"},
                    Wrong{"mdev.self_removal = '-1ms'", 1, "is no duration"}));

INSTANTIATE_TEST_SUITE_P(
    Others, WrongConfig,
    testing::Values(
        Wrong{"[gpus]\nmanaged = [\n  '0000:41:00.0',\n  '41:00.0',\n]", 4,
              "`gpus.managed`: \"41:00.0\" is no PCI address"},
        Wrong{"gpus.managed = '*'", 1, "expected [\"*\"] or a list"},
        Wrong{"gpus.managed = [7]", 1, "expected a PCI address in quotes"},
        Wrong{"gpus.managed = ['*', '0000:41:00.0']", 1, "cannot stand beside addresses"},
        Wrong{"gpus.ignored = ['*']", 1, "managed = []"},
        Wrong{"gpus.ignored = '0000:41:00.0'", 1, "expected a list of PCI addresses"},
        Wrong{"gpus.ignored = [['0000:41:00.0']]", 1, "expected a PCI address in quotes"},
        Wrong{"libvirt.uri = ''", 1, "cannot be empty"},
        Wrong{"libvirt.uri = true", 1, "expected a libvirt URI"},
        Wrong{"libvirt.rebind = 'yes'", 1, "`libvirt.rebind`: expected true or false"},
        Wrong{"libvirt.rebind = 1", 1, "expected true or false"}, Wrong{"# fine\n[hook\n", 2, ""},
        Wrong{"# fine\n= 1", 2, ""}, Wrong{"[=]", 1, ""}, Wrong{"[.]", 1, ""}, Wrong{"[[#", 1, ""},
        Wrong{"hook.deadline = \"20s", 1, ""}, Wrong{"# \xff\n", 1, ""},
        Wrong{"# fine\n\xc3\xa9 = 1", 2, "beyond ASCII"},
        Wrong{"# fine\n\x01", 2, "this is no text file"}));

TEST(ConfigErrors, NeverRepeatAHugeValue) {
    for (const std::string& text : {"[hook]\n" + std::string(100000, 'a') + " = 1",
                                    "hook.deadline = '" + std::string(100000, '1') + "s'",
                                    "paths.state = '/" + std::string(100000, 'a') + "'",
                                    "gpus.managed = ['" + std::string(100000, '0') + "']"}) {
        const auto config = parse_config(text, "v.toml");
        ASSERT_FALSE(config);
        EXPECT_LT(config.error().text().size(), 400U);
    }
}

TEST(ConfigErrors, OfDeepNestingAreErrorsAndNoCrash) {
    constexpr int depth = 200000;
    std::string dots = "a";
    std::string quoted = "'a'";
    std::string tables;
    for (int i = 0; i < depth; ++i) {
        dots += ".a";
        quoted += ".\"a\"";
        tables += "{a=";
    }
    for (const std::string& text : {dots + " = 1", "[" + dots + "]", "[[" + dots + "]]",
                                    quoted + " = 1", "a = " + std::string(depth, '['),
                                    "a = " + std::string(depth, '[') + std::string(depth, ']'),
                                    "a = " + tables, "hook = {" + dots + " = 1}"}) {
        EXPECT_FALSE(parse_config(text, "v.toml")) << text.substr(0, 20);
    }
}

TEST(ConfigErrors, OfManyTablesAndLongListsAreFoundInBoundedTime) {
    std::string tables;
    for (int i = 0; i < 60000; ++i) {
        tables += "[t" + std::to_string(i) + "]\n";
    }
    EXPECT_FALSE(parse_config(tables, "v.toml"));
    std::string list = "gpus.ignored = [";
    for (int i = 0; i < 60000; ++i) {
        list += "'" + PciAddress{static_cast<std::uint32_t>(i), 0, 0, 0}.to_string() + "',\n";
    }
    const auto config = parse_config(list + "]", "v.toml");
    EXPECT_FALSE(config && config->gpus.ignored.size() != 60000);
}

TEST(ConfigErrors, OfEveryCutAndEveryChangedByteStayErrors) {
    const std::string whole = to_toml(Config());
    for (std::size_t i = 0; i < whole.size(); ++i) {
        std::vector<std::string> texts{whole.substr(0, i), whole.substr(i)};
        for (const char c : {'\0', '\n', '"', '.', '[', '=', '#', '\xff'}) {
            texts.push_back(whole);
            texts.back()[i] = c;
        }
        for (const std::string& text : texts) {
            const auto config = parse_config(text, "v.toml");
            if (!config) {
                EXPECT_THAT(config.error().text(), StartsWith("v.toml:"));
            } else {
                EXPECT_EQ(parse_config(to_toml(*config), "v.toml").value(), *config);
            }
        }
    }
}

} // namespace
} // namespace vgpu
