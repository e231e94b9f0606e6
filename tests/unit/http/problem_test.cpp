#include "agent/http/problem.hpp"
#include "agent/http/response_head.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace vgpu::test {
namespace {

using namespace http;
using testing::HasSubstr;
using testing::Not;

TEST(Problem, CarriesEveryErrorThereAndBack) {
    const std::vector<std::pair<ErrorCode, int>> table{
        {ErrorCode::invalid, 400},     {ErrorCode::not_found, 404}, {ErrorCode::busy, 409},
        {ErrorCode::conflict, 409},    {ErrorCode::denied, 403},    {ErrorCode::unavailable, 503},
        {ErrorCode::timeout, 504},     {ErrorCode::io, 500},        {ErrorCode::corrupt, 500},
        {ErrorCode::unsupported, 501},
    };
    for (const auto& [code, status] : table) {
        const auto response = to_response(problem_of(Error(code, "device 0000:41:00.4: why")));
        EXPECT_EQ(response.status, status) << to_string(code);
        EXPECT_EQ(header_value(response.headers, "retry-after").empty(),
                  code != ErrorCode::unavailable);
        const Error back = error_of(response.status, response.content_type, response.body);
        EXPECT_EQ(back.code(), code) << to_string(code);
        EXPECT_EQ(back.text(), "device 0000:41:00.4: why");
    }
}

TEST(Problem, NamesDeviceDomainAndHolder) {
    auto problem = problem_of(Error(ErrorCode::busy, "held"));
    problem.device = "0000:41:00.4";
    problem.domain = "vm\xff";
    problem.holder = "other";
    const auto document = nlohmann::json::parse(to_response(problem).body);
    EXPECT_EQ(document.at("type"), "urn:virt-vgpu:problem:busy");
    EXPECT_EQ(document.at("status"), 409);
    EXPECT_EQ(document.at("device"), "0000:41:00.4");
    EXPECT_EQ(document.at("domain"), "vm\xef\xbf\xbd");
    EXPECT_EQ(document.at("holder"), "other");
}

TEST(Problem, TellsDeviceDomainAndHolderAgainOnlyWhereTheTextDoesNot) {
    auto problem = problem_of(Error(ErrorCode::busy, "0000:41:00.4 is claimed"));
    problem.device = "0000:41:00.4";
    problem.domain = "vm1";
    problem.holder = "vm2\033[2J";
    const auto response = to_response(problem);
    const Error error = error_of(response.status, response.content_type, response.body);
    EXPECT_EQ(error.text(), "0000:41:00.4 is claimed (domain vm1, held by vm2?[2J)");
}

TEST(Problem, OfAForeignServerStillTellsItsStatus) {
    EXPECT_EQ(error_of(404, "text/html", "<html>").code(), ErrorCode::not_found);
    EXPECT_THAT(error_of(502, "", "").text(), HasSubstr("502"));
    EXPECT_EQ(error_of(413, "application/problem+json", "{\"type\":7,").code(), ErrorCode::invalid);
    EXPECT_EQ(error_of(503, "application/problem+json", "[]").code(), ErrorCode::unavailable);
}

TEST(ResponseHead, LeavesOutAFieldThatWouldForgeAnother) {
    Response response;
    response.headers = {{"Location", "/a\r\nSet-Cookie: b"}, {"Allow", "GET"}};
    const auto head = response_head(response, {});
    EXPECT_THAT(head, Not(HasSubstr("Set-Cookie")));
    EXPECT_THAT(head, HasSubstr("Allow: GET\r\n"));
}

} // namespace
} // namespace vgpu::test
