#include "agent/core/inventory_json.hpp"
#include "tests/unit/cli/made_up.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace vgpu {

namespace {

using nlohmann::json;
using test::claimed;
using test::host_of;
using test::l40s;
using test::l40s_4q;
using test::vf;

constexpr const char* gpu = "0000:41:00.0";

bool has_fields(const json& object, const std::vector<std::string>& names) {
    for (const std::string& name : names) {
        if (!object.contains(name)) {
            ADD_FAILURE() << "no field " << name;
            return false;
        }
    }
    return true;
}

} // namespace

TEST(InventoryJson, WritesDevicesAsProgramsExpectThem) {
    const json list =
        json::parse(devices_json(host_of({l40s(gpu)}, {vf("0000:41:00.4", gpu, {l40s_4q})})));
    ASSERT_EQ(list.size(), 1U);
    const json& device = list[0];
    EXPECT_EQ(device["device"], "0000:41:00.4");
    EXPECT_EQ(device["gpu"], gpu);
    EXPECT_EQ(device["framework"], "vendor-vfio");
    EXPECT_EQ(device["type_id"], 0);
    EXPECT_TRUE(device["profile"].is_null());
    EXPECT_EQ(device["allocated"], false);
    EXPECT_EQ(device["dirty"], false);
    EXPECT_EQ(device["managed"], true);
    EXPECT_EQ(device["in_use"], false);
    EXPECT_EQ(device["numa_node"], -1);
    EXPECT_TRUE(device["claim"].is_null());
    EXPECT_TRUE(has_fields(device, {"mdev_uuid", "iommu_group", "vfio_nodes", "error", "holder"}));
}

TEST(InventoryJson, WritesTheClaimOfADevice) {
    const json list = json::parse(
        devices_json(host_of({l40s(gpu)}, {claimed(vf("0000:41:00.4", gpu, {l40s_4q}), l40s_4q)})));
    EXPECT_EQ(list[0]["claim"]["domain"]["name"], "vm1");
    EXPECT_EQ(list[0]["claim"]["state"], "configured");
    EXPECT_EQ(list[0]["allocated"], true);
    EXPECT_EQ(list[0]["profile"], "NVIDIA L40S-4Q");
}

TEST(InventoryJson, WritesNullForWhatIsNotKnown) {
    DeviceInfo device = vf("0000:41:00.4", gpu, {});
    device.type_id = std::nullopt;
    device.in_use = std::nullopt;
    device.error = "read: Input/output error";
    const json list = json::parse(devices_json(host_of({l40s(gpu)}, {device})));
    EXPECT_TRUE(list[0]["type_id"].is_null());
    EXPECT_TRUE(list[0]["in_use"].is_null());
    EXPECT_EQ(list[0]["allocated"], true);
    EXPECT_EQ(list[0]["error"], "read: Input/output error");
}

TEST(InventoryJson, WritesGpusAsProgramsExpectThem) {
    GpuInfo info = l40s(gpu);
    info.vfs = 32;
    info.allocated = 2;
    info.numa_node = 0;
    const json list = json::parse(gpus_json(host_of({info}, {})));
    ASSERT_EQ(list.size(), 1U);
    EXPECT_EQ(list[0]["gpu"], gpu);
    EXPECT_EQ(list[0]["name"], "NVIDIA L40S");
    EXPECT_EQ(list[0]["framework"], "vendor-vfio");
    EXPECT_EQ(list[0]["vfs"], 32);
    EXPECT_EQ(list[0]["allocated"], 2);
    EXPECT_EQ(list[0]["framebuffer_mib"], 49152);
    EXPECT_EQ(list[0]["numa_node"], 0);
    EXPECT_EQ(list[0]["managed"], true);
}

TEST(InventoryJson, WritesProfilesAsProgramsExpectThem) {
    const json list = json::parse(profiles_json({{l40s_4q, 4096, 12}}));
    EXPECT_EQ(list, json::parse(R"([{"profile":"NVIDIA L40S-4Q","type_id":1150,
                                     "framebuffer_mib":4096,"available":12}])"));
}

TEST(InventoryJson, WritesClaimsAsTheyAreStored) {
    const Claim claim = test::claim_by(1, l40s_4q);
    const StoredClaim stored{DeviceKey(test::pci("0000:41:00.4")), claim};
    const json list = json::parse(claims_json({stored}, ClaimStore(Config::Paths())));
    json expected = json::parse(to_json(claim));
    expected["key"] = "pci-0000:41:00.4";
    EXPECT_EQ(list, json::array({expected}));
}

TEST(InventoryJson, WritesFileAndReasonOfAClaimThatCannotBeRead) {
    const StoredClaim stored{DeviceKey(test::pci("0000:41:00.4")), fail(ErrorCode::corrupt, "no")};
    const json list = json::parse(claims_json({stored}, ClaimStore(Config::Paths())));
    EXPECT_EQ(list[0]["file"], "/var/lib/virt-vgpu/claims/pci-0000:41:00.4.json");
    EXPECT_EQ(list[0]["error"], "no");
    EXPECT_FALSE(list[0].contains("state"));
}

TEST(InventoryJson, SurvivesNamesThatAreNoUtf8) {
    Claim claim = test::claim_by(1, l40s_4q);
    claim.domain_name = "vm\xff";
    const StoredClaim stored{DeviceKey(test::pci("0000:41:00.4")), claim};
    EXPECT_EQ(json::parse(claims_json({stored}, ClaimStore(Config::Paths()))).size(), 1U);
}

TEST(InventoryJson, WritesEmptyListsAsLists) {
    EXPECT_EQ(devices_json(Inventory()), "[]\n");
    EXPECT_EQ(gpus_json(Inventory()), "[]\n");
    EXPECT_EQ(profiles_json({}), "[]\n");
    EXPECT_EQ(claims_json({}, ClaimStore(Config::Paths())), "[]\n");
}

} // namespace vgpu
