#include "agent/http/target.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vgpu::test {
namespace {

using namespace http;
using testing::ElementsAre;
using testing::Pair;

TEST(Target, IsTakenApartAndDecoded) {
    const auto target = parse_target("/v1/a%2Fb/%C3%A9?x=1+2&y&z=a%3Db%26");
    ASSERT_TRUE(target);
    EXPECT_EQ(target->path, "/v1/a%2Fb/%C3%A9");
    EXPECT_THAT(target->segments, ElementsAre("v1", "a/b", "\xc3\xa9"));
    EXPECT_THAT(target->query, ElementsAre(Pair("x", "1 2"), Pair("y", ""), Pair("z", "a=b&")));
}

TEST(Target, MayNameTheHost) {
    EXPECT_THAT(parse_target("http://host/v1/gpus")->segments, ElementsAre("v1", "gpus"));
    EXPECT_THAT(parse_target("http://host")->segments, ElementsAre(""));
}

TEST(Target, IsRefusedWhenItIsNoCleanPath) {
    for (const char* text : {"", "*", "v1", "/a%", "/a%g0", "/a%+1", "/%00", "/%0a", "/%ff", "/..",
                             "/a/%2e/b", "/a#b", "/a?b=1&b=2", "/a?%zz"}) {
        const auto target = parse_target(text);
        ASSERT_FALSE(target) << text;
        EXPECT_EQ(target.error().code(), ErrorCode::invalid) << text;
    }
}

TEST(Target, AnEncodedSegmentComesBackAsItWas) {
    const std::string name = "vm 1/\xc3\xa9%?#&+";
    const auto target = parse_target("/v1/" + encode_segment(name));
    ASSERT_TRUE(target);
    EXPECT_THAT(target->segments, ElementsAre("v1", name));
}

} // namespace
} // namespace vgpu::test
