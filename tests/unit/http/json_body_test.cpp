#include "agent/http/json_body.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vgpu::test {
namespace {

using namespace http;

Request request_of(std::string type, std::string body) {
    Request request;
    if (!type.empty()) {
        request.headers.emplace_back("content-type", std::move(type));
    }
    request.body = std::move(body);
    return request;
}

TEST(JsonBody, IsReadWithItsContentType) {
    for (const char* type :
         {"application/json", "Application/JSON", "application/json; charset=utf-8"}) {
        const auto body = parse_json_body(request_of(type, R"({"a":[1,{"a":2}]})"));
        ASSERT_TRUE(body) << type;
        EXPECT_EQ(body->at("a").at(1).at("a"), 2);
    }
}

TEST(JsonBody, OfAnotherTypeIs415) {
    for (const char* type : {"", "text/plain", "application/jsonx", "application/xml"}) {
        const auto body = parse_json_body(request_of(type, "{}"));
        ASSERT_FALSE(body) << type;
        EXPECT_EQ(body.error().status, 415) << type;
    }
}

TEST(JsonBody, ThatIsNotCleanIs400) {
    for (const std::string& text :
         {std::string(), std::string("{"), std::string("{} {}"), std::string("{\"a\":1,\"a\":2}"),
          std::string("{\"a\":1,\"\\u0061\":2}"), std::string("\"\xff\""), std::string("[1e999]"),
          std::string("\"\\ud800\""), std::string("{\"a\":\"\x01\"}"), std::string("NaN")}) {
        const auto body = parse_json_body(request_of("application/json", text));
        ASSERT_FALSE(body) << text;
        EXPECT_EQ(body.error().status, 400) << text;
    }
}

TEST(JsonBody, IsRefusedWhenNestedTooDeeply) {
    const auto nested = [](std::size_t depth) {
        return std::string(depth, '[') + std::string(depth, ']');
    };
    EXPECT_TRUE(parse_json(nested(64)));
    EXPECT_FALSE(parse_json(nested(65)));
    EXPECT_FALSE(parse_json(std::string(1000000, '[')));
}

} // namespace
} // namespace vgpu::test
