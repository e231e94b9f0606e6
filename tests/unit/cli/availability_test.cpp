#include "agent/core/availability.hpp"
#include "tests/unit/cli/made_up.hpp"

#include <gtest/gtest.h>

namespace vgpu {

namespace {

using test::claimed;
using test::dirty;
using test::host_of;
using test::l40s;
using test::l40s_48q;
using test::l40s_4q;
using test::l40s_8q;
using test::vf;

constexpr const char* gpu_a = "0000:41:00.0";
constexpr const char* gpu_b = "0000:81:00.0";
const std::vector<VgpuType> everything{l40s_4q, l40s_8q, l40s_48q};

/// `count` free VFs of `gpu` that offer `types`.
std::vector<DeviceInfo> vfs(const char* gpu, const char* bus, int count,
                            const std::vector<VgpuType>& types) {
    std::vector<DeviceInfo> devices;
    for (int i = 0; i < count; ++i) {
        const std::string address =
            std::string(bus) + ":" + (i < 8 ? "00." : "01.") + std::to_string(i % 8);
        devices.push_back(vf(address.c_str(), gpu, types));
    }
    return devices;
}

std::uint32_t available(const Inventory& inventory, const VgpuType& type) {
    for (const ProfileInfo& profile : profiles_of(inventory)) {
        if (profile.type == type) {
            return profile.available;
        }
    }
    ADD_FAILURE() << type.name << " is not listed";
    return 0;
}

} // namespace

// bug reports D37, D47; a hazard of the same kind is "dozens of 48Q shown where one per GPU fits"
TEST(Availability, IsBoundedByTheFramebufferAndNotByTheNumberOfVfs) {
    const Inventory inventory = host_of({l40s(gpu_a)}, vfs(gpu_a, "0000:42", 16, everything));
    EXPECT_EQ(available(inventory, l40s_48q), 1U);
    EXPECT_EQ(available(inventory, l40s_8q), 6U);
    EXPECT_EQ(available(inventory, l40s_4q), 12U);
}

TEST(Availability, IsBoundedByTheNumberOfFreeVfs) {
    const Inventory inventory = host_of({l40s(gpu_a)}, vfs(gpu_a, "0000:42", 3, everything));
    EXPECT_EQ(available(inventory, l40s_4q), 3U);
}

// bug report D39
TEST(Availability, AddsUpOverGpus) {
    auto devices = vfs(gpu_a, "0000:42", 4, everything);
    const auto more = vfs(gpu_b, "0000:82", 4, everything);
    devices.insert(devices.end(), more.begin(), more.end());
    const Inventory inventory = host_of({l40s(gpu_a), l40s(gpu_b)}, devices);
    EXPECT_EQ(available(inventory, l40s_4q), 8U);
    EXPECT_EQ(available(inventory, l40s_48q), 2U);
}

TEST(Availability, CountsTheRoomThatLivingVgpusLeave) {
    auto devices = vfs(gpu_a, "0000:42", 16, {l40s_8q});
    devices[0] = claimed(devices[0], l40s_8q);
    devices[1] = claimed(devices[1], l40s_8q, 2);
    const Inventory inventory = host_of({l40s(gpu_a)}, devices);
    EXPECT_EQ(available(inventory, l40s_8q), 4U);
}

// hypeman 3.1: a driver may go on listing types on a VF that carries one
TEST(Availability, CountsNoClaimedDeviceThatStillOffersTypes) {
    auto devices = vfs(gpu_a, "0000:42", 2, {l40s_4q});
    devices[0] = claimed(devices[0], l40s_4q);
    devices[0].offers.push_back(test::offered(l40s_4q));
    EXPECT_EQ(available(host_of({l40s(gpu_a)}, devices), l40s_4q), 1U);
}

TEST(Availability, ListsAKnownProfileThatCannotBeCreatedNowWithZero) {
    auto devices = vfs(gpu_a, "0000:42", 4, {l40s_8q}); // the driver's list has shrunk to one size
    devices[0] = claimed(devices[0], l40s_8q);
    const Inventory inventory = host_of({l40s(gpu_a)}, devices);
    EXPECT_EQ(available(inventory, l40s_4q), 0U);
    EXPECT_EQ(available(inventory, l40s_48q), 0U);
}

TEST(Availability, CountsWhatARepairWouldGiveBack) {
    auto devices = vfs(gpu_a, "0000:42", 2, {l40s_8q});
    devices[0] = dirty(devices[0], l40s_8q); // hides every other size
    const Inventory inventory = host_of({l40s(gpu_a)}, devices);
    EXPECT_EQ(available(inventory, l40s_4q), 2U);
    EXPECT_EQ(available(inventory, l40s_48q), 1U);
}

TEST(Availability, CountsNoDirtyDeviceThatSomebodyHolds) {
    auto devices = vfs(gpu_a, "0000:42", 2, {l40s_8q});
    devices[0] = dirty(devices[0], l40s_8q);
    devices[0].in_use = true;
    const Inventory inventory = host_of({l40s(gpu_a)}, devices);
    EXPECT_EQ(available(inventory, l40s_4q), 0U);
    EXPECT_EQ(available(inventory, l40s_8q), 1U);
}

// Missing evidence is no evidence of absence.
TEST(Availability, CountsNoDirtyDeviceOfWhichItIsNotKnownWhetherSomebodyHoldsIt) {
    auto devices = vfs(gpu_a, "0000:42", 1, {l40s_8q});
    devices[0] = dirty(devices[0], l40s_8q);
    devices[0].in_use = std::nullopt;
    EXPECT_EQ(available(host_of({l40s(gpu_a)}, devices), l40s_8q), 0U);
}

TEST(Availability, DoesNotCountOnASecondSizeBesideALivingVgpuAfterARepair) {
    auto devices = vfs(gpu_a, "0000:42", 3, {l40s_8q});
    devices[0] = claimed(devices[0], l40s_8q);
    devices[1] = dirty(devices[1], l40s_8q);
    const Inventory inventory = host_of({l40s(gpu_a)}, devices);
    EXPECT_EQ(available(inventory, l40s_4q), 0U);
    EXPECT_EQ(available(inventory, l40s_8q), 2U);
}

TEST(Availability, CountsADeviceWhoseClaimIsOver) {
    auto devices = vfs(gpu_a, "0000:42", 1, {});
    devices[0] = claimed(devices[0], l40s_8q);
    devices[0].claim_over = true;
    EXPECT_EQ(available(host_of({l40s(gpu_a)}, devices), l40s_8q), 1U);
    devices[0].claim_over = false;
    EXPECT_EQ(available(host_of({l40s(gpu_a)}, devices), l40s_8q), 0U);
}

TEST(Availability, CountsAReservationAsUsedAlthoughNothingIsConfiguredYet) {
    auto devices = vfs(gpu_a, "0000:42", 2, everything);
    devices[0] = claimed(devices[0], l40s_48q);
    devices[0].type_id = 0;
    devices[0].claim->claim->state = ClaimState::claimed;
    const Inventory inventory = host_of({l40s(gpu_a)}, devices);
    EXPECT_EQ(available(inventory, l40s_48q), 0U); // although the driver still offers it
    EXPECT_EQ(available(inventory, l40s_4q), 0U);
}

TEST(Availability, LeavesOutDevicesThatAreNotOursOrNotReadable) {
    auto devices = vfs(gpu_a, "0000:42", 4, everything);
    devices[0].managed = false;
    devices[1].error = "read: Input/output error";
    devices[2].in_use = true;
    EXPECT_EQ(available(host_of({l40s(gpu_a)}, devices), l40s_4q), 1U);
}

TEST(Availability, NeverPromisesMoreOfATypeThanTheDriverSaysAGpuTakes) {
    auto devices = vfs(gpu_a, "0000:42", 16, {});
    for (DeviceInfo& device : devices) {
        device.offers.push_back(test::offered(l40s_4q, 1, 2));
    }
    EXPECT_EQ(available(host_of({l40s(gpu_a)}, devices), l40s_4q), 2U);
}

TEST(Availability, TakesTheDriversCountOnACardWithoutVfs) {
    GpuInfo gpu = l40s(gpu_a);
    gpu.framework = FrameworkKind::mdev;
    DeviceInfo parent = vf(gpu_a, gpu_a, {});
    parent.framework = FrameworkKind::mdev;
    parent.offers.push_back(test::offered(l40s_8q, 6));
    EXPECT_EQ(available(host_of({gpu}, {parent}), l40s_8q), 6U);
}

TEST(Availability, PromisesOneOfATypeWhoseSizeNobodyKnows) {
    GpuInfo gpu = l40s(gpu_a);
    const VgpuType odd{77, "nvidia-77"};
    gpu.types.push_back(odd);
    auto devices = vfs(gpu_a, "0000:42", 8, {odd});
    EXPECT_EQ(available(host_of({gpu}, devices), odd), 1U);
}

TEST(Availability, IsZeroForAProfileOfAGpuThatIsNotOurs) {
    GpuInfo gpu = l40s(gpu_a);
    gpu.managed = false;
    EXPECT_TRUE(profiles_of(host_of({gpu}, {})).empty());
}

TEST(Availability, IsSortedBySize) {
    const auto profiles = profiles_of(host_of({l40s(gpu_a)}, {}));
    ASSERT_EQ(profiles.size(), 3U);
    EXPECT_EQ(profiles[0].type, l40s_4q);
    EXPECT_EQ(profiles[1].type, l40s_8q);
    EXPECT_EQ(profiles[2].type, l40s_48q);
    EXPECT_EQ(profiles[2].framebuffer_mib, 49152U);
}

} // namespace vgpu
