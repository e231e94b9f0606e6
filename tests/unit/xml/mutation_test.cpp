#include "tests/unit/xml/domain_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace vgpu::xml {
namespace {

constexpr int rounds = 500; // for each file
using namespace std::string_view_literals;
constexpr std::string_view interesting = "<>&'\"/=?!-[] \n\t\0\x01\xff\xc3:;#x0zZost"sv;

class Mutator {
public:
    explicit Mutator(unsigned seed) : random_(seed) {}

    std::string mutate(std::string text) {
        for (std::size_t changes = 1 + below(4); changes > 0 && !text.empty(); --changes) {
            change(text);
        }
        return text;
    }

private:
    std::size_t below(std::size_t limit) { return random_() % limit; }
    char any_byte() {
        return below(2) == 0 ? interesting[below(interesting.size())]
                             : static_cast<char>(below(256));
    }

    void change(std::string& text) {
        const std::size_t at = below(text.size());
        const std::size_t length = std::min(below(40), text.size() - at);
        switch (below(5)) {
        case 0:
            text[at] = any_byte();
            break;
        case 1:
            text.insert(at, 1, any_byte());
            break;
        case 2:
            text.erase(at, length);
            break;
        case 3:
            text.insert(below(text.size()), text.substr(at, length));
            break;
        default:
            text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
        }
    }

    std::mt19937 random_;
};

bool finds_something(const DomainView& view) {
    return view.has_request || std::ranges::any_of(view.hostdevs, [](const Hostdev& hostdev) {
               return hostdev.type != Hostdev::Type::other;
           });
}

/// What must hold for a document that can be read, whatever it is.
void check_edit(const std::string& xml, const DomainView& view, const Assignment& assignment) {
    const auto once = with_assignment(xml, assignment);
    if (!once) {
        return;
    }
    EXPECT_EQ(value_of(with_assignment(*once, assignment)), *once);
    EXPECT_EQ(value_of(read_domain(*once)).uuid, view.uuid);
    const bool is_new = std::ranges::none_of(view.requests, [&](const VgpuRequest& request) {
        return request.name == assignment.request.name;
    });
    const auto removed = value_of(without_assignment(*once, assignment.request.name));
    EXPECT_EQ(value_of(read_domain(removed)).requests.size(),
              view.requests.size() - (is_new ? 0U : 1U));
}

class MutatedXml : public testing::TestWithParam<std::string> {};

TEST_P(MutatedXml, IsReadOrRefusedAndNeverMissed) {
    const std::string original = domain_file(GetParam());
    Mutator mutator(20240917);
    int readable = 0;
    for (int round = 0; round < rounds; ++round) {
        const std::string xml = mutator.mutate(original);
        const auto view = read_domain(xml);
        if (!view) {
            ASSERT_EQ(view.error().code(), ErrorCode::invalid);
            ASSERT_THAT(view.error().text(), testing::Not(testing::HasSubstr("taken apart")))
                << xml;
            continue;
        }
        ++readable;
        ASSERT_TRUE(may_concern_us(xml) || !finds_something(*view)) << xml;
        check_edit(xml, *view, pci_assignment("vgpu0"));
        check_edit(xml, *view, mdev_assignment("desk"));
        ASSERT_FALSE(HasFailure()) << xml;
    }
    // Mutations that break every document would test the first check only.
    EXPECT_GT(readable, rounds / 20);
    EXPECT_LT(readable, rounds);
}

INSTANTIATE_TEST_SUITE_P(AllFiles, MutatedXml, testing::ValuesIn(good_domain_files()),
                         [](const auto& file) {
                             std::string name = file.param.substr(0, file.param.find('.'));
                             std::ranges::replace(name, '-', '_');
                             return name;
                         });

} // namespace
} // namespace vgpu::xml
