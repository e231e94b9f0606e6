// Many at once. The owner is decided by the claim, never by luck.
#include "tests/hook/hook_process.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <thread>

namespace vgpu::test {

class Parallel : public HookTest {
public:
    Parallel() : HookTest({.gpus = 8, .vfs = 8, .arguments = {}, .config = ""}) {}

    static std::string uuid(int domain) {
        return fmt::format("aaaaaaaa-0000-4000-8000-{:012}", domain);
    }
    [[nodiscard]] std::unique_ptr<HookProcess> start(const std::string& operation, int domain,
                                                     const std::string& xml) const {
        return std::make_unique<HookProcess>(
            config,
            std::vector<std::string>{fmt::format("vm{}", domain), operation,
                                     operation == "release" ? "end" : "begin", "-"},
            xml);
    }
};

TEST_F(Parallel, ThirtyTwoDomainsOnEightGpusGetThirtyTwoDevices) {
    const char* const functions[] = {"00.4", "00.5", "00.6", "00.7"};
    std::vector<std::string> xmls;
    std::vector<std::unique_ptr<HookProcess>> hooks;
    for (int domain = 0; domain < 32; ++domain) {
        const std::string vf =
            fmt::format("0000:{:x}:{}", 0x41 + domain / 4, functions[domain % 4]);
        xmls.push_back(domain_xml(fmt::format("vm{}", domain), uuid(domain),
                                  {{"vgpu0", profile, vf, "", "", false}}));
        hooks.push_back(start("prepare", domain, xmls.back()));
    }
    for (auto& hook : hooks) {
        const HookEnd end = hook->wait();
        EXPECT_EQ(end.status, 0) << end.message;
    }
    EXPECT_EQ(claim_files().size(), 32U);
    for (int domain = 0; domain < 32; ++domain) {
        EXPECT_EQ(
            release(fmt::format("vm{}", domain), xmls[static_cast<std::size_t>(domain)]).status, 0);
    }
    expect_all_free();
}

TEST_F(Parallel, OfManyDomainsThatNameOneVfExactlyOneWins) {
    for (int round = 0; round < 5; ++round) {
        std::vector<std::unique_ptr<HookProcess>> hooks;
        for (int domain = 0; domain < 6; ++domain) {
            hooks.push_back(start("prepare", domain,
                                  domain_xml(fmt::format("vm{}", domain), uuid(domain),
                                             {{"vgpu0", profile, vf0, "", "", false}})));
        }
        std::vector<int> winners;
        for (int domain = 0; domain < 6; ++domain) {
            if (hooks[static_cast<std::size_t>(domain)]->wait().status == 0) {
                winners.push_back(domain);
            }
        }
        ASSERT_EQ(winners.size(), 1U);
        EXPECT_EQ(claimed(vf0).domain_uuid.to_string(), uuid(winners[0]));
        EXPECT_EQ(sim.type(vf0), type_4q);
        ASSERT_EQ(release("winner", domain_xml("winner", uuid(winners[0]),
                                               {{"vgpu0", profile, vf0, "", "", false}}))
                      .status,
                  0);
        expect_all_free();
    }
}

// Found by the model: device locks taken one after the other would hang the two.
TEST_F(Parallel, TwoDomainsThatNameTwoVfsInOppositeOrderDoNotHang) {
    const std::string one = domain_xml(
        "vm1", uuid(1),
        {{"vgpu0", profile, vf0, "", "", false}, {"vgpu1", profile, vf1, "", "", false}});
    const std::string two = domain_xml(
        "vm2", uuid(2),
        {{"vgpu0", profile, vf1, "", "", false}, {"vgpu1", profile, vf0, "", "", false}});
    for (int round = 0; round < 10; ++round) {
        auto first = start("prepare", 1, one);
        auto second = start("prepare", 2, two);
        const int first_status = first->wait().status;
        const int second_status = second->wait().status;
        EXPECT_EQ(first_status + second_status, 1) << "one gets both, the other none";
        EXPECT_EQ(claimed(vf0).domain_uuid, claimed(vf1).domain_uuid);
        ASSERT_EQ(release("vm1", one).status, 0);
        ASSERT_EQ(release("vm2", two).status, 0);
        expect_all_free();
    }
}

// One VF's driver write is stuck; a domain on another VF of the same GPU starts, without waiting
// for it.
TEST_F(Parallel, ABlockedDeviceHoldsUpNobodyElse) {
    sim.control(std::string("block ") + vf0);
    auto blocked = start("prepare", 1, xml_a());
    while (!claim(vf0)) { // its claim is made before its write
        std::this_thread::yield();
    }
    EXPECT_EQ(prepare("vm2", xml_b(vf1)).status, 0);
    EXPECT_EQ(release("vm2", xml_b(vf1)).status, 0);
    sim.control(std::string("unblock ") + vf0);
    EXPECT_EQ(blocked->wait().status, 0);
    EXPECT_EQ(sim.type(vf0), type_4q);
}

TEST_F(Parallel,
       LocksThatSomebodyRemovesDoNotGiveOneVfToTwo) { // I1: a cleaner of /run, an administrator
    sim.control(std::string("block ") + vf1);
    auto first = start("prepare", 1,
                       domain_xml("vm1", uuid_a,
                                  {{"vgpu0", profile, vf0, "", "", false},
                                   {"vgpu1", profile, vf1, "", "", false}}));
    while (!claim(vf0) || claimed(vf0).state != ClaimState::configured) {
        std::this_thread::yield();
    }
    std::filesystem::remove_all(sim.runtime());
    ASSERT_EQ(release("vm1", xml_a()).status, 0);
    ASSERT_EQ(prepare("vm2", xml_b()).status, 0);
    const auto second = claim(vf0);
    sim.control(std::string("unblock ") + vf1);
    EXPECT_EQ(first->wait().status, 1);
    EXPECT_EQ(claim(vf0), second);
    EXPECT_EQ(sim.type(vf0), type_4q);
}

} // namespace vgpu::test
