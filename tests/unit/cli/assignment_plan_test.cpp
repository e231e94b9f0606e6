#include "agent/assignment/assignment_plan.hpp"
#include "tests/unit/cli/made_up.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

namespace vgpu::cli {

namespace {

using test::claimed;
using test::dirty;
using test::host_of;
using test::l40s;
using test::l40s_4q;
using test::l40s_8q;
using test::pci;
using test::uuid;
using test::vf;
using testing::HasSubstr;
using testing::MatchesRegex;

constexpr const char* gpu_a = "0000:41:00.0";
constexpr const char* gpu_b = "0000:81:00.0";
const HypervisorFacts new_libvirt{"QEMU", 11003000, 10000013};
const HypervisorFacts old_libvirt{"QEMU", 9000000, 7002000};

std::size_t first(std::size_t) {
    return 0;
}

xml::VgpuRequest request(const std::string& name, const std::string& profile) {
    return {name, profile, std::nullopt, ""};
}

xml::Hostdev hostdev(const DeviceKey& device, const std::string& alias) {
    xml::Hostdev made;
    made.type = device.is_mdev() ? xml::Hostdev::Type::mdev : xml::Hostdev::Type::pci;
    if (device.is_mdev()) {
        made.uuid = device.mdev();
    } else {
        made.address = device.pci();
    }
    made.alias = alias;
    return made;
}

/// A domain of number 9 that has `requests`, each pointed at the device of the same place.
xml::DomainView domain(const std::vector<xml::VgpuRequest>& requests = {},
                       const std::vector<DeviceKey>& devices = {}) {
    xml::DomainView view;
    view.uuid = uuid(9);
    view.name = "vm9";
    view.request_domain = uuid(9);
    view.requests = requests;
    for (std::size_t i = 0; i < devices.size(); ++i) {
        view.hostdevs.push_back(hostdev(devices[i], "ua-" + requests[i].name));
    }
    return view;
}

DeviceKey key(const char* address) {
    return DeviceKey(pci(address));
}

class Plan : public testing::Test {
protected:
    Result<std::vector<PlannedDevice>> plan(const std::vector<xml::VgpuRequest>& requests) {
        return plan_assignments({inventory, hypervisor, elsewhere, view, first}, requests);
    }
    std::string device_for(const std::string& profile) {
        const auto planned = plan({request("vgpu0", profile)});
        return planned ? planned->front().assignment.device.device()
                       : "refused: " + planned.error().text();
    }

    const VgpuType& type = l40s_4q;
    Inventory inventory =
        host_of({l40s(gpu_a), l40s(gpu_b)}, {vf("0000:41:00.4", gpu_a, {l40s_4q, l40s_8q}),
                                             vf("0000:41:00.5", gpu_a, {l40s_4q, l40s_8q}),
                                             vf("0000:81:00.4", gpu_b, {l40s_4q, l40s_8q})});
    HypervisorFacts hypervisor = new_libvirt;
    std::vector<NamedDevice> elsewhere;
    xml::DomainView view = domain();
};

} // namespace

TEST_F(Plan, ChoosesAFreeDeviceAndSpellsTheProfileAsTheDriverDoes) {
    const auto planned = plan({request("vgpu0", "l40s-4q")});
    ASSERT_TRUE(planned) << planned.error().text();
    const PlannedDevice& device = planned->front();
    EXPECT_EQ(device.assignment.request.profile, "NVIDIA L40S-4Q");
    EXPECT_EQ(device.framework, FrameworkKind::vendor_vfio);
    EXPECT_EQ(device.gpu, pci(gpu_a));
    EXPECT_FALSE(device.kept);
    EXPECT_EQ(device.warning, "");
}

TEST_F(Plan, TakesATypeIdAndWritesTheName) {
    const auto planned = plan({request("vgpu0", "1150")});
    ASSERT_TRUE(planned);
    EXPECT_EQ(planned->front().assignment.request.profile, "NVIDIA L40S-4Q");
}

TEST_F(Plan, GoesToTheGpuWithTheLeastClaimedFramebuffer) {
    inventory =
        host_of({l40s(gpu_a), l40s(gpu_b)},
                {claimed(vf("0000:41:00.4", gpu_a, {}), l40s_4q),
                 vf("0000:41:00.5", gpu_a, {l40s_4q}), vf("0000:81:00.4", gpu_b, {l40s_4q})});
    EXPECT_EQ(device_for("L40S-4Q"), "0000:81:00.4");
}

// Domains that are assigned one after the other, before any starts, must not all end on one GPU.
TEST_F(Plan, CountsWhatDomainsThatAreShutOffWillClaim) {
    elsewhere = {{key("0000:41:00.4"), "vm1", "NVIDIA L40S-4Q"}};
    EXPECT_EQ(device_for("L40S-4Q"), "0000:81:00.4");
}

TEST_F(Plan, LeavesDevicesThatAreClaimedHeldUnmanagedOrBroken) {
    auto& devices = inventory.devices;
    devices[0] = claimed(devices[0], l40s_4q);
    devices[1].in_use = true;
    EXPECT_EQ(device_for("L40S-4Q"), "0000:81:00.4");
    devices[2].error = "read: Input/output error";
    EXPECT_THAT(device_for("L40S-4Q"),
                HasSubstr("of 3 that support it 1 claimed, 1 in use, 1 not"));
    devices[2].error = "";
    devices[2].managed = false;
    EXPECT_THAT(device_for("L40S-4Q"), HasSubstr("refused"));
}

TEST_F(Plan, PrefersACleanDeviceOnTheSameGpu) {
    inventory.gpus.pop_back();
    inventory.devices.pop_back();
    inventory.devices[0] = dirty(inventory.devices[0], l40s_4q);
    EXPECT_EQ(device_for("L40S-4Q"), "0000:41:00.5");
}

// hypeman 3.2: one bad VF must not be everybody's first choice
TEST_F(Plan, ChoosesAmongEqualDevicesByChance) {
    inventory.gpus.pop_back();
    inventory.devices.pop_back();
    std::set<DeviceKey> chosen;
    for (const std::size_t pick : {std::size_t{0}, std::size_t{1}}) {
        const auto random = [pick](std::size_t bound) {
            EXPECT_EQ(bound, 2U);
            return pick;
        };
        const auto planned = plan_assignments({inventory, hypervisor, elsewhere, view, random},
                                              {request("vgpu0", "L40S-4Q")});
        ASSERT_TRUE(planned) << planned.error().text();
        chosen.insert(planned->front().assignment.device);
    }
    EXPECT_EQ(chosen.size(), 2U);
}

TEST_F(Plan, ChoosesByChanceAmongCleanDevicesOnly) {
    inventory = host_of({l40s(gpu_a)}, {dirty(vf("0000:41:00.4", gpu_a, {}), l40s_4q),
                                        vf("0000:41:00.5", gpu_a, {l40s_4q}),
                                        vf("0000:41:00.6", gpu_a, {l40s_4q})});
    std::set<std::string> chosen;
    for (const std::size_t pick : {std::size_t{0}, std::size_t{1}, std::size_t{2}}) {
        const auto random = [pick](std::size_t bound) { return pick % bound; };
        const auto planned = plan_assignments({inventory, hypervisor, elsewhere, view, random},
                                              {request("vgpu0", "L40S-4Q")});
        ASSERT_TRUE(planned) << planned.error().text();
        chosen.insert(planned->front().assignment.device.device());
    }
    EXPECT_EQ(chosen, (std::set<std::string>{"0000:41:00.5", "0000:41:00.6"}));
}

// hypeman 3.2: a claim of a profile that says nothing of its size makes its GPU the last choice
TEST_F(Plan, GoesToAGpuOfUnknownLoadOnlyWhenThereIsNoOther) {
    inventory = host_of({l40s(gpu_a), l40s(gpu_b)},
                        {claimed(vf("0000:41:00.4", gpu_a, {}), VgpuType{77, "nvidia-77"}),
                         vf("0000:41:00.5", gpu_a, {l40s_4q}),
                         claimed(vf("0000:81:00.4", gpu_b, {}), l40s_4q, 2),
                         vf("0000:81:00.5", gpu_b, {l40s_4q})});
    EXPECT_EQ(device_for("L40S-4Q"), "0000:81:00.5");
    inventory.devices.pop_back();
    EXPECT_EQ(device_for("L40S-4Q"), "0000:41:00.5");
}

TEST_F(Plan, TakesADirtyDeviceThatItsOwnResetWouldMakeFit) {
    inventory = host_of({l40s(gpu_a)}, {dirty(vf("0000:41:00.4", gpu_a, {}), l40s_8q)});
    EXPECT_EQ(device_for("L40S-4Q"), "0000:41:00.4");
}

// bug report D48
TEST_F(Plan, LeavesAGpuThatCarriesAnotherSize) {
    inventory = host_of({l40s(gpu_a)}, {claimed(vf("0000:41:00.4", gpu_a, {}), l40s_8q),
                                        vf("0000:41:00.5", gpu_a, {l40s_8q})});
    EXPECT_THAT(device_for("L40S-4Q"), HasSubstr("another framebuffer size"));
    EXPECT_EQ(device_for("L40S-8Q"), "0000:41:00.5");
}

TEST_F(Plan, LeavesDevicesThatOtherDomainsNameAsLongAsThereAreOthers) {
    elsewhere = {{key("0000:41:00.4"), "vm1", ""}, {key("0000:81:00.4"), "vm2", ""}};
    EXPECT_EQ(device_for("L40S-4Q"), "0000:41:00.5");
    elsewhere.push_back({key("0000:41:00.5"), "vm3", ""});
    const auto planned = plan({request("vgpu0", "L40S-4Q")});
    ASSERT_TRUE(planned);
    EXPECT_THAT(planned->front().warning,
                MatchesRegex(".* is also the device of domain vm[123], .*"));
}

TEST_F(Plan, GivesDistinctDevicesToTheRequestsOfADomain) {
    const auto planned = plan(
        {request("vgpu0", "L40S-4Q"), request("vgpu1", "L40S-4Q"), request("vgpu2", "L40S-4Q")});
    ASSERT_TRUE(planned) << planned.error().text();
    std::set<DeviceKey> devices;
    for (const PlannedDevice& device : *planned) {
        devices.insert(device.assignment.device);
    }
    EXPECT_EQ(devices.size(), 3U);
    EXPECT_FALSE(plan({request("a", "L40S-4Q"), request("b", "L40S-4Q"), request("c", "L40S-4Q"),
                       request("d", "L40S-4Q")}));
}

TEST_F(Plan, LeavesTheOtherHostDevicesOfTheDomain) {
    view = domain({request("vgpu1", "L40S-4Q")}, {key("0000:41:00.4")});
    EXPECT_EQ(device_for("L40S-4Q"), "0000:41:00.5"); // as vgpu0
}

TEST_F(Plan, KeepsAGoodDevice) {
    view = domain({request("vgpu0", "L40S-4Q")}, {key("0000:81:00.4")});
    const auto planned = plan(view.requests);
    ASSERT_TRUE(planned);
    EXPECT_EQ(planned->front().assignment.device, key("0000:81:00.4"));
    EXPECT_TRUE(planned->front().kept);
}

TEST_F(Plan, KeepsTheDeviceThatTheRunningDomainHas) {
    view = domain({request("vgpu0", "L40S-4Q")}, {key("0000:81:00.4")});
    inventory.devices[2] = claimed(inventory.devices[2], l40s_4q, 9);
    inventory.devices[2].in_use = true;
    const auto planned = plan(view.requests);
    ASSERT_TRUE(planned) << planned.error().text();
    EXPECT_TRUE(planned->front().kept);
}

TEST_F(Plan, GivesNoRequestTheDeviceThatAnotherOneKeeps) {
    view = domain({request("vgpu0", "L40S-4Q"), request("vgpu1", "L40S-4Q")},
                  {key("0000:99:00.4"), key("0000:41:00.4")});
    const auto planned = plan(view.requests);
    ASSERT_TRUE(planned);
    EXPECT_NE((*planned)[0].assignment.device, key("0000:41:00.4"));
    EXPECT_EQ((*planned)[1].assignment.device, key("0000:41:00.4"));
}

// bug report D78
TEST_F(Plan, GivesACloneADeviceOfItsOwn) {
    view = domain({request("vgpu0", "L40S-4Q")}, {key("0000:41:00.4")});
    view.request_domain = uuid(1);
    elsewhere = {{key("0000:41:00.4"), "vm1", "NVIDIA L40S-4Q"}};
    const auto planned = plan(view.requests);
    ASSERT_TRUE(planned);
    EXPECT_NE(planned->front().assignment.device, key("0000:41:00.4"));
}

TEST_F(Plan, HonoursTheWishForAGpu) {
    auto wish = request("vgpu0", "L40S-4Q");
    wish.gpu = pci(gpu_b);
    EXPECT_EQ(plan({wish}).value().front().assignment.device, key("0000:81:00.4"));
    wish.gpu = pci("0000:99:00.0");
    EXPECT_THAT(plan({wish}).error().text(), HasSubstr("no NVIDIA GPU 0000:99:00.0"));
    wish.gpu = pci(gpu_b);
    inventory.gpus[1].managed = false;
    EXPECT_EQ(plan({wish}).error().code(), ErrorCode::denied);
}

TEST_F(Plan, NamesTheNearestProfilesWhenOneIsUnknown) {
    const auto planned = plan({request("vgpu0", "L40S-5Q")});
    ASSERT_FALSE(planned);
    EXPECT_EQ(planned.error().code(), ErrorCode::not_found);
    EXPECT_THAT(planned.error().text(), HasSubstr("NVIDIA L40S-4Q (1150)"));
}

TEST_F(Plan, RefusesATypeIdThatMeansTwoProfiles) {
    inventory.gpus[1].types = {{1150, "NVIDIA H200X-141C"}};
    const auto planned = plan({request("vgpu0", "1150")});
    ASSERT_FALSE(planned);
    EXPECT_EQ(planned.error().code(), ErrorCode::conflict);
}

TEST_F(Plan, RefusesVendorVfioOnALibvirtBefore97WithTheWayOut) {
    hypervisor = old_libvirt;
    const auto planned = plan({request("vgpu0", "L40S-4Q")});
    ASSERT_FALSE(planned);
    EXPECT_EQ(planned.error().code(), ErrorCode::unsupported);
    EXPECT_THAT(planned.error().text(), HasSubstr("9.0.0"));
    EXPECT_THAT(planned.error().text(), HasSubstr("backports"));
}

// bug report D96
TEST_F(Plan, RefusesVendorVfioForAHypervisorThatIsNotQemu) {
    hypervisor.driver = "Xen";
    EXPECT_THAT(device_for("L40S-4Q"), HasSubstr("QEMU"));
}

class MdevPlan : public Plan {
protected:
    MdevPlan() {
        inventory.devices.resize(1);
        inventory.gpus.resize(1);
        inventory.gpus[0].framework = FrameworkKind::mdev;
        inventory.devices[0].framework = FrameworkKind::mdev;
        hypervisor = old_libvirt; // which does for mdevs
    }
};

TEST_F(MdevPlan, GivesAFreshUuid) {
    const auto planned = plan({request("vgpu0", "L40S-4Q")});
    ASSERT_TRUE(planned) << planned.error().text();
    EXPECT_TRUE(planned->front().assignment.device.is_mdev());
    EXPECT_EQ(planned->front().framework, FrameworkKind::mdev);
    EXPECT_FALSE(planned->front().gpu);
    const auto again = plan({request("vgpu0", "L40S-4Q")});
    EXPECT_NE(again->front().assignment.device, planned->front().assignment.device);
}

TEST_F(MdevPlan, KeepsTheUuidUnlessTheDomainIsACopy) {
    view = domain({request("vgpu0", "L40S-4Q")}, {DeviceKey(uuid(77))});
    EXPECT_EQ(plan(view.requests)->front().assignment.device, DeviceKey(uuid(77)));
    view.request_domain = uuid(1);
    EXPECT_NE(plan(view.requests)->front().assignment.device, DeviceKey(uuid(77)));
}

TEST_F(MdevPlan, RefusesWhenEveryParentIsTaken) {
    inventory.devices[0] = claimed(inventory.devices[0], l40s_4q);
    EXPECT_THAT(device_for("L40S-4Q"), HasSubstr("1 claimed"));
}

} // namespace vgpu::cli
