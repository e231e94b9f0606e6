#include "agent/cli/release.hpp"
#include "tests/unit/cli/simulated_host.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace vgpu::cli {

namespace {

using test::SimulatedHost;
using testing::HasSubstr;

constexpr const char* one_card = "gpu 0000:41:00.0 model=L40S vfs=2\n";
constexpr const char* vf = "0000:41:00.4";
constexpr const char* mdev = "2f6c1f0a-52c1-4b8e-9d0b-6f3c6f0a7e11";
constexpr std::uint32_t type = 1150;

class Release : public testing::Test {
protected:
    Result<ReleaseReport> release(const std::string& device = vf, bool force = false) {
        return release_device(host.host, DeviceKey::parse_device(device).value(), force,
                              Deadline::in(std::chrono::seconds(20)));
    }
    Result<ReleaseReport> force(const std::string& device = vf) { return release(device, true); }

    /// The VF typed and claimed by vm1.
    Claim claimed(ClaimState state = ClaimState::configured) {
        host.simulator.control("set-type 0000:41:00.4 1150");
        Claim claim = host.claim_on(vf, "NVIDIA L40S-4Q", type);
        claim.state = state;
        return claim;
    }
    void hold() {
        host.simulator.control("process-add 4242 comm=qemu-system-x86");
        host.simulator.control("process-fd 4242 7 group:0000:41:00.4");
    }
    bool is_claimed(const std::string& device = vf) {
        const auto claim = host.claims.read(DeviceKey::parse_device(device).value());
        return !claim || claim->has_value();
    }
    void break_claim() {
        test::write_file(host.claims.path(DeviceKey::parse_device(vf).value()), "{broken");
    }

    SimulatedHost host{one_card};
};

} // namespace

TEST_F(Release, FinishesADrainingClaim) {
    host.store(vf, claimed(ClaimState::draining));
    const auto done = release();
    ASSERT_TRUE(done) << done.error().text();
    EXPECT_EQ(done->effect, ReleaseEffect::reset);
    EXPECT_EQ(host.simulator.type(vf), 0U);
    EXPECT_FALSE(is_claimed());
}

TEST_F(Release, FinishesAClaimOfAnotherBoot) {
    Claim claim = claimed();
    claim.boot_id = "an earlier boot";
    host.store(vf, claim);
    ASSERT_TRUE(release());
    EXPECT_EQ(host.simulator.type(vf), 0U);
    EXPECT_FALSE(is_claimed());
}

TEST_F(Release, FinishesAClaimWhoseRecordedVmmIsDead) {
    Claim claim = claimed();
    claim.vmm = Vmm{999, 12345};
    host.store(vf, claim);
    ASSERT_TRUE(release());
    EXPECT_EQ(host.simulator.type(vf), 0U);
    EXPECT_FALSE(is_claimed());
}

TEST_F(Release, RefusesAClaimWhoseRecordedVmmLivesAlsoByForce) {
    host.simulator.control("process-add 4242 comm=qemu-system-x86 start=777");
    Claim claim = claimed();
    claim.vmm = Vmm{4242, 777};
    host.store(vf, claim);
    for (const bool forced : {false, true}) {
        const auto done = release(vf, forced);
        ASSERT_FALSE(done);
        EXPECT_THAT(done.error().text(), HasSubstr("vm1"));
        EXPECT_THAT(done.error().text(), HasSubstr("4242"));
    }
    EXPECT_EQ(host.simulator.type(vf), type);
    EXPECT_EQ(host.claims.read(DeviceKey::parse_device(vf).value()).value()->state,
              ClaimState::configured); // not even marked
}

TEST_F(Release, TakesALaterProcessWithTheSameNumberForAnother) {
    host.simulator.control("process-add 4242 comm=bash start=888");
    Claim claim = claimed();
    claim.vmm = Vmm{4242, 777};
    host.store(vf, claim);
    EXPECT_TRUE(release());
}

TEST_F(Release, SeesAVmmOfTheDomainThatHasNotOpenedTheDeviceYet) {
    host.simulator.control("process-add 4243 cmdline=qemu\\0-uuid\\0" + host.domain.to_string());
    host.store(vf, claimed());
    const auto done = force();
    ASSERT_FALSE(done);
    EXPECT_THAT(done.error().text(), HasSubstr("4243"));
    EXPECT_EQ(host.simulator.type(vf), type);
}

TEST_F(Release, WantsForceWhereNothingProvesThatTheRunIsOver) {
    host.store(vf, claimed());
    const auto refused = release();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), ErrorCode::denied);
    EXPECT_THAT(refused.error().text(), HasSubstr("--force"));
    EXPECT_EQ(host.simulator.type(vf), type);
    ASSERT_TRUE(force());
    EXPECT_EQ(host.simulator.type(vf), 0U);
    EXPECT_FALSE(is_claimed());
}

// bug report D67
TEST_F(Release, NeverTouchesADeviceThatSomebodyHoldsOpen) {
    host.store(vf, claimed());
    hold();
    const auto done = force();
    ASSERT_FALSE(done);
    EXPECT_THAT(done.error().text(), HasSubstr("pid 4242 (qemu-system-x86)"));
    EXPECT_EQ(host.simulator.type(vf), type);
    EXPECT_TRUE(is_claimed());
    EXPECT_EQ(host.simulator.counter("writes_while_open"), 0U);
}

TEST_F(Release, RemovesAReservationWithoutTouchingTheDevice) {
    Claim claim = claimed(ClaimState::claimed);
    host.store(vf, claim);
    EXPECT_FALSE(release());
    const auto done = force();
    ASSERT_TRUE(done) << done.error().text();
    EXPECT_EQ(done->effect, ReleaseEffect::forgotten);
    EXPECT_EQ(host.simulator.type(vf), type);
    EXPECT_FALSE(is_claimed());
}

TEST_F(Release, ForgetsAForeignDomainsClaimWithoutTouchingTheDevice) {
    Claim claim = claimed(ClaimState::draining);
    claim.managed = false;
    host.store(vf, claim);
    const auto done = release();
    ASSERT_TRUE(done) << done.error().text();
    EXPECT_EQ(done->effect, ReleaseEffect::forgotten);
    EXPECT_EQ(host.simulator.type(vf), type);
}

// bug report D61
TEST_F(Release, KeepsTheClaimOfADeviceThatRefusesItsReset) {
    host.simulator.control("fault 0000:41:00.4 current_vgpu_type write EIO always");
    host.store(vf, claimed(ClaimState::draining));
    const auto done = release();
    ASSERT_FALSE(done);
    EXPECT_THAT(done.error().text(), HasSubstr("stays claimed"));
    EXPECT_TRUE(is_claimed());
}

TEST_F(Release, ResetsADirtyDevice) {
    host.simulator.control("set-type 0000:41:00.4 1150");
    const auto done = release();
    ASSERT_TRUE(done) << done.error().text();
    EXPECT_EQ(done->effect, ReleaseEffect::reset);
    EXPECT_EQ(host.simulator.type(vf), 0U);
}

TEST_F(Release, LeavesADirtyDeviceThatSomebodyHolds) {
    host.simulator.control("set-type 0000:41:00.4 1150");
    hold();
    const auto done = force();
    ASSERT_FALSE(done);
    EXPECT_THAT(done.error().text(), HasSubstr("4242"));
    EXPECT_EQ(host.simulator.type(vf), type);
}

TEST_F(Release, HasNothingToDoOnAFreeCleanDevice) {
    const auto done = release();
    ASSERT_TRUE(done);
    EXPECT_EQ(done->effect, ReleaseEffect::nothing);
}

// I6
TEST_F(Release, LeavesWhatIsNotGivenToUs) {
    host.simulator.control("set-type 0000:41:00.4 1150");
    host.configuration.gpus.ignored = {PciAddress::parse(vf).value()};
    const auto done = force();
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code(), ErrorCode::denied);
    EXPECT_EQ(host.simulator.type(vf), type);
}

TEST_F(Release, SaysThatADeviceIsNotThere) {
    const auto done = release("0000:99:00.0");
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code(), ErrorCode::not_found);
    EXPECT_FALSE(std::filesystem::exists(host.simulator.runtime() + "/devices"));
}

TEST_F(Release, WantsForceForAClaimThatCannotBeRead) {
    host.simulator.control("set-type 0000:41:00.4 1150");
    break_claim();
    const auto refused = release();
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().text(), HasSubstr("--force"));
    EXPECT_TRUE(is_claimed());
    const auto done = force();
    ASSERT_TRUE(done) << done.error().text();
    EXPECT_EQ(done->effect, ReleaseEffect::reset);
    EXPECT_EQ(host.simulator.type(vf), 0U);
    EXPECT_FALSE(is_claimed());
}

TEST_F(Release, KeepsAnUnreadableClaimOnADeviceThatSomebodyHolds) {
    host.simulator.control("set-type 0000:41:00.4 1150");
    break_claim();
    hold();
    EXPECT_FALSE(force());
    EXPECT_TRUE(is_claimed());
    EXPECT_EQ(host.simulator.type(vf), type);
}

TEST_F(Release, WaitsForTheLockOfTheDeviceOnlySoLong) {
    host.store(vf, claimed(ClaimState::draining));
    const auto lock = host.locks.try_device(DeviceKey::parse_device(vf).value()).value();
    const auto done =
        release_device(host.host, lock->key(), true, Deadline::in(std::chrono::milliseconds(50)));
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code(), ErrorCode::timeout);
    EXPECT_EQ(host.simulator.type(vf), type);
}

// I6; bug report D74
TEST(ReleaseMdev, LeavesAnMdevThatNobodyHasClaimed) {
    SimulatedHost host("gpu 0000:03:00.0 model=A2 vfs=1\n");
    host.simulator.control(std::string("foreign-mdev ") + mdev + " 744 0000:03:00.4");
    const auto done = release_device(host.host, DeviceKey::parse_device(mdev).value(), true,
                                     Deadline::in(std::chrono::seconds(20)));
    ASSERT_FALSE(done);
    EXPECT_THAT(done.error().text(), HasSubstr("another tool"));
    EXPECT_TRUE(std::filesystem::exists(host.simulator.sysfs() + "/bus/mdev/devices/" + mdev));
}

TEST(ReleaseMdev, RemovesAnMdevWhoseClaimIsOver) {
    SimulatedHost host("gpu 0000:03:00.0 model=A2 vfs=1\n");
    host.simulator.control(std::string("foreign-mdev ") + mdev + " 744 0000:03:00.4");
    Claim claim = host.claim_on(mdev, "NVIDIA A2-1Q", 744);
    claim.parent = PciAddress::parse("0000:03:00.4").value();
    claim.state = ClaimState::draining;
    host.store(mdev, claim);
    const auto done = release_device(host.host, DeviceKey::parse_device(mdev).value(), false,
                                     Deadline::in(std::chrono::seconds(20)));
    ASSERT_TRUE(done) << done.error().text();
    EXPECT_FALSE(std::filesystem::exists(host.simulator.sysfs() + "/bus/mdev/devices/" + mdev));
}

TEST(ReleaseMdev, PointsFromAParentToItsMdevs) {
    SimulatedHost host("gpu 0000:03:00.0 model=A2 vfs=1\n");
    const auto done = release_device(host.host, DeviceKey::parse_device("0000:03:00.4").value(),
                                     false, Deadline::in(std::chrono::seconds(20)));
    ASSERT_FALSE(done);
    EXPECT_THAT(done.error().text(), HasSubstr("UUID"));
}

} // namespace vgpu::cli
