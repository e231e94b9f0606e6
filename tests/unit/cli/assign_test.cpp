#include "agent/assignment/assign.hpp"
#include "agent/cli/assign_report.hpp"
#include "agent/hypervisor/libvirt_hypervisor.hpp"
#include "tests/unit/cli/made_up.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <regex>

namespace vgpu::cli {

namespace {

using test::host_of;
using test::l40s;
using test::l40s_4q;
using test::l40s_8q;
using test::vf;
using testing::HasSubstr;

constexpr const char* gpu = "0000:41:00.0";
constexpr const char* first_uuid = "f0f0f0f0-0000-4000-8000-000000000001";
constexpr const char* second_uuid = "f0f0f0f0-0000-4000-8000-000000000002";

/// libvirt's test driver, with the version and the name of another daemon, and with accidents.
class DressedUpDriver final : public Hypervisor {
public:
    Result<HypervisorFacts> facts() override {
        VGPU_TRY_ASSIGN(HypervisorFacts facts, inner_->facts());
        return pretended ? *pretended : facts;
    }
    Result<std::vector<DomainInfo>> domains() override { return inner_->domains(); }
    Result<DomainInfo> domain(const std::string& name) override {
        auto info = inner_->domain(name);
        if (info && transient) {
            info->persistent = false;
        }
        if (info && ++looks == changed_at_look) {
            info->xml += "<!-- somebody else was here -->";
        }
        return info;
    }
    Result<void> define(const std::string& xml) override {
        ++definitions;
        if (drop_metadata) {
            static const std::regex metadata("<metadata>[^]*</metadata>");
            return inner_->define(std::regex_replace(xml, metadata, ""));
        }
        return inner_->define(xml);
    }

    std::optional<HypervisorFacts> pretended = HypervisorFacts{"QEMU", 11003000, 10000013};
    bool transient = false;
    bool drop_metadata = false;
    int changed_at_look = 0;
    int looks = 0;
    int definitions = 0;

private:
    std::unique_ptr<Hypervisor> inner_ =
        connect_libvirt("test:///default", Deadline::in(std::chrono::seconds(60))).value();
};

class Assign : public testing::Test {
protected:
    Assign() { define("vm1", first_uuid); }

    void define(const std::string& name, const std::string& uuid) {
        const auto defined = hypervisor.define(
            "<domain type='test'><name>" + name + "</name><uuid>" + uuid +
            "</uuid><memory>1048576</memory><os><type>hvm</type></os><devices/></domain>");
        ASSERT_TRUE(defined) << defined.error().text();
    }

    Result<DomainChange> run(const AssignWish& wish) {
        return assign(
            hypervisor, [this] { return Result<Inventory>(inventory); }, wish,
            [](std::size_t) { return std::size_t{0}; });
    }
    Result<DomainChange> give(const std::string& domain, const std::string& profile = "L40S-4Q") {
        AssignWish wish;
        wish.domain = domain;
        wish.profile = profile;
        return run(wish);
    }
    xml::DomainView view(const std::string& domain) {
        return xml::read_domain(hypervisor.domain(domain).value().xml).value();
    }
    std::string device(const std::string& domain, std::size_t request = 0) {
        const auto now = view(domain);
        const auto* hostdev = now.hostdev_of(now.requests.at(request));
        return hostdev == nullptr ? "none" : key_of(*hostdev)->device();
    }

    DressedUpDriver hypervisor;
    Inventory inventory = host_of({l40s(gpu)}, {vf("0000:41:00.4", gpu, {l40s_4q, l40s_8q}),
                                                vf("0000:41:00.5", gpu, {l40s_4q, l40s_8q})});
};

} // namespace

TEST_F(Assign, WritesRequestAndDeviceIntoTheDefinition) {
    const auto change = give("vm1");
    ASSERT_TRUE(change) << change.error().text();
    EXPECT_TRUE(change->changed);
    EXPECT_FALSE(change->running);
    const auto now = view("vm1");
    ASSERT_EQ(now.requests.size(), 1U);
    EXPECT_EQ(now.requests[0].name, "vgpu0");
    EXPECT_EQ(now.requests[0].profile, "NVIDIA L40S-4Q");
    EXPECT_EQ(now.request_domain, now.uuid);
    const auto* hostdev = now.hostdev_of(now.requests[0]);
    ASSERT_NE(hostdev, nullptr);
    EXPECT_FALSE(hostdev->managed);
    EXPECT_EQ(key_of(*hostdev), change->devices[0].assignment.device);
}

TEST_F(Assign, FindsTheDomainByUuid) {
    EXPECT_TRUE(give(first_uuid));
}

TEST_F(Assign, ChangesNothingTheSecondTime) {
    ASSERT_TRUE(give("vm1"));
    const std::string before = device("vm1");
    hypervisor.definitions = 0;
    const auto again = give("vm1");
    ASSERT_TRUE(again) << again.error().text();
    EXPECT_FALSE(again->changed);
    EXPECT_EQ(hypervisor.definitions, 0);
    EXPECT_EQ(device("vm1"), before);
}

TEST_F(Assign, GivesTwoDomainsTwoDevices) {
    define("vm2", second_uuid);
    ASSERT_TRUE(give("vm1"));
    ASSERT_TRUE(give("vm2"));
    EXPECT_NE(device("vm1"), device("vm2"));
}

TEST_F(Assign, AddsASecondRequestUnderAnotherName) {
    ASSERT_TRUE(give("vm1"));
    AssignWish wish;
    wish.domain = "vm1";
    wish.profile = "L40S-4Q";
    wish.name = "vgpu1";
    ASSERT_TRUE(run(wish));
    EXPECT_EQ(view("vm1").requests.size(), 2U);
    EXPECT_NE(device("vm1", 0), device("vm1", 1));
}

TEST_F(Assign, ChangesTheProfileAndKeepsTheRestOfTheRequest) {
    AssignWish wish;
    wish.domain = "vm1";
    wish.profile = "L40S-4Q";
    wish.gpu = test::pci(gpu);
    wish.params = "frame_rate_limiter=0";
    ASSERT_TRUE(run(wish));
    ASSERT_TRUE(give("vm1", "L40S-8Q"));
    auto request = view("vm1").requests.at(0);
    EXPECT_EQ(request.profile, "NVIDIA L40S-8Q");
    EXPECT_EQ(request.params, "frame_rate_limiter=0");
    EXPECT_EQ(request.gpu, test::pci(gpu));
    wish.profile = std::nullopt;
    wish.gpu = std::nullopt;
    wish.any_gpu = true;
    wish.params = "";
    ASSERT_TRUE(run(wish));
    request = view("vm1").requests.at(0);
    EXPECT_EQ(request.params, "");
    EXPECT_FALSE(request.gpu);
}

// bug report D78
TEST_F(Assign, PointsACloneAtADeviceOfItsOwn) {
    ASSERT_TRUE(give("vm1"));
    // As virt-clone does: another name and UUID, metadata and host devices copied.
    std::string clone = hypervisor.domain("vm1").value().xml;
    clone = std::regex_replace(clone, std::regex("<name>vm1</name>"), "<name>vm2</name>");
    clone = std::regex_replace(clone, std::regex(std::string("<uuid>") + first_uuid),
                               std::string("<uuid>") + second_uuid);
    ASSERT_TRUE(hypervisor.define(clone));
    ASSERT_TRUE(view("vm2").is_copy());
    ASSERT_EQ(device("vm1"), device("vm2"));
    AssignWish wish;
    wish.domain = "vm2";
    const auto change = run(wish);
    ASSERT_TRUE(change) << change.error().text();
    EXPECT_FALSE(view("vm2").is_copy());
    EXPECT_NE(device("vm1"), device("vm2"));
}

TEST_F(Assign, SaysWhenANewRequestLacksItsProfile) {
    AssignWish wish;
    wish.domain = "vm1";
    const auto change = run(wish);
    ASSERT_FALSE(change);
    EXPECT_THAT(change.error().text(), HasSubstr("--profile"));
}

TEST_F(Assign, RefusesATransientDomain) {
    hypervisor.transient = true;
    const auto change = give("vm1");
    ASSERT_FALSE(change);
    EXPECT_EQ(change.error().code(), ErrorCode::unsupported);
    EXPECT_THAT(change.error().text(), HasSubstr("transient"));
}

TEST_F(Assign, SaysThatARunningDomainGetsItAtItsNextStart) {
    const auto change = give("test"); // the driver's own domain, which runs
    ASSERT_TRUE(change) << change.error().text();
    EXPECT_TRUE(change->running);
    EXPECT_THAT(change_text(*change), HasSubstr("next start"));
}

// The libvirt of this machine may be any: the daemon's version is what counts.
TEST_F(Assign, RefusesVfsWithADaemonThatWouldRefuseThem) {
    hypervisor.pretended = HypervisorFacts{"QEMU", 9000000, 7002000};
    const auto change = give("vm1");
    ASSERT_FALSE(change);
    EXPECT_THAT(change.error().text(), HasSubstr("9.7.0"));
    EXPECT_TRUE(view("vm1").requests.empty());
}

TEST_F(Assign, RefusesVfsWithTheTestDriverItself) {
    hypervisor.pretended = std::nullopt;
    const auto change = give("vm1");
    ASSERT_FALSE(change);
    EXPECT_EQ(change.error().code(), ErrorCode::unsupported);
}

TEST_F(Assign, WritesAnMdevWhateverTheDaemonsVersion) {
    hypervisor.pretended = std::nullopt;
    inventory.gpus[0].framework = FrameworkKind::mdev;
    for (DeviceInfo& row : inventory.devices) {
        row.framework = FrameworkKind::mdev;
    }
    const auto change = give("vm1");
    ASSERT_TRUE(change) << change.error().text();
    const auto now = view("vm1");
    const auto* hostdev = now.hostdev_of(now.requests.at(0));
    ASSERT_NE(hostdev, nullptr);
    EXPECT_EQ(hostdev->type, xml::Hostdev::Type::mdev);
    EXPECT_THAT(change_text(*change), HasSubstr("made at start"));
}

TEST_F(Assign, WritesNothingOverTheChangeOfSomebodyElse) {
    hypervisor.changed_at_look = 2;
    hypervisor.definitions = 0;
    const auto change = give("vm1");
    ASSERT_FALSE(change);
    EXPECT_EQ(change.error().code(), ErrorCode::conflict);
    EXPECT_EQ(hypervisor.definitions, 0);
}

// libvirt drops what it does not know without a word.
TEST_F(Assign, NoticesWhenTheRequestDoesNotSurvive) {
    hypervisor.drop_metadata = true;
    const auto change = give("vm1");
    ASSERT_FALSE(change);
    EXPECT_THAT(change.error().text(), HasSubstr("did not keep"));
}

TEST_F(Assign, DoesNotLookAtTheHostForADomainThatIsNotThere) {
    AssignWish wish;
    wish.domain = "nobody";
    wish.profile = "L40S-4Q";
    bool looked = false;
    const auto change = assign(
        hypervisor,
        [&] {
            looked = true;
            return Result<Inventory>(inventory);
        },
        wish);
    EXPECT_EQ(change.error().code(), ErrorCode::not_found);
    EXPECT_FALSE(looked);
}

TEST_F(Assign, IsUndoneByUnassign) {
    const std::string before = hypervisor.domain("vm1").value().xml;
    ASSERT_TRUE(give("vm1"));
    const auto change = unassign(hypervisor, "vm1", "");
    ASSERT_TRUE(change) << change.error().text();
    EXPECT_THAT(change->removed, testing::ElementsAre("vgpu0"));
    EXPECT_EQ(hypervisor.domain("vm1").value().xml, before);
}

TEST_F(Assign, TakesAwayTheNamedRequestOnly) {
    ASSERT_TRUE(give("vm1"));
    AssignWish wish;
    wish.domain = "vm1";
    wish.profile = "L40S-4Q";
    wish.name = "vgpu1";
    ASSERT_TRUE(run(wish));
    ASSERT_TRUE(unassign(hypervisor, "vm1", "vgpu0"));
    const auto now = view("vm1");
    ASSERT_EQ(now.requests.size(), 1U);
    EXPECT_EQ(now.requests[0].name, "vgpu1");
    EXPECT_EQ(now.hostdevs.size(), 1U);
    EXPECT_EQ(unassign(hypervisor, "vm1", "vgpu0").error().code(), ErrorCode::not_found);
}

TEST_F(Assign, ReportsInJson) {
    const auto json = nlohmann::json::parse(change_json(give("vm1").value()));
    EXPECT_EQ(json["domain"]["name"], "vm1");
    EXPECT_EQ(json["changed"], true);
    EXPECT_EQ(json["devices"][0]["name"], "vgpu0");
    EXPECT_EQ(json["devices"][0]["profile"], "NVIDIA L40S-4Q");
    EXPECT_EQ(json["devices"][0]["framework"], "vendor-vfio");
    EXPECT_TRUE(json["devices"][0]["mdev_uuid"].is_null());
}

} // namespace vgpu::cli
