#include "agent/cli/tables.hpp"
#include "tests/unit/cli/made_up.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vgpu::cli {

namespace {

using test::claimed;
using test::dirty;
using test::host_of;
using test::l40s;
using test::l40s_4q;
using test::vf;
using testing::HasSubstr;

constexpr const char* gpu = "0000:41:00.0";

DeviceInfo free_vf() {
    return vf("0000:41:00.4", gpu, {l40s_4q});
}

} // namespace

TEST(StateWord, SaysWhatIsTheMatterWithADevice) {
    EXPECT_EQ(state_word(free_vf()), "free");
    EXPECT_EQ(state_word(dirty(free_vf(), l40s_4q)), "dirty");
    EXPECT_EQ(state_word(claimed(free_vf(), l40s_4q)), "configured");

    DeviceInfo unmanaged = free_vf();
    unmanaged.managed = false;
    EXPECT_EQ(state_word(unmanaged), "unmanaged");
    EXPECT_EQ(state_word(dirty(unmanaged, l40s_4q)), "foreign");

    DeviceInfo held = free_vf();
    held.in_use = true;
    EXPECT_EQ(state_word(held), "in-use");

    DeviceInfo broken = free_vf();
    broken.type_id = std::nullopt;
    broken.error = "read: Input/output error";
    EXPECT_EQ(state_word(broken), "unreadable");

    DeviceInfo none = broken;
    none.framework = std::nullopt;
    EXPECT_EQ(state_word(none), "unusable");

    DeviceInfo unknown = free_vf();
    unknown.claim = StoredClaim{unknown.key(), fail(ErrorCode::corrupt, "broken")};
    EXPECT_EQ(state_word(unknown), "unreadable");

    DeviceInfo others = claimed(free_vf(), l40s_4q);
    others.claim->claim->managed = false;
    EXPECT_EQ(state_word(others), "foreign");
}

TEST(Tables, ShowDevicesInARowEachWithReasonsBelow) {
    DeviceInfo broken = vf("0000:41:00.5", gpu, {});
    broken.type_id = std::nullopt;
    broken.error = "read: Input/output error";
    const auto text =
        devices_text(host_of({l40s(gpu)}, {claimed(free_vf(), l40s_4q), broken}), false);
    EXPECT_EQ(text, "DEVICE        GPU           FRAMEWORK    STATE       PROFILE         DOMAIN  "
                    "IN USE  NUMA\n"
                    "0000:41:00.4  0000:41:00.0  vendor-vfio  configured  NVIDIA L40S-4Q  vm1     "
                    "no         -\n"
                    "0000:41:00.5  0000:41:00.0  vendor-vfio  unreadable  ?               -       "
                    "no         -\n"
                    "\n"
                    "0000:41:00.5: read: Input/output error\n");
}

TEST(Tables, ShowTheHolderOfADevice) {
    DeviceInfo held = free_vf();
    held.in_use = true;
    held.holder = Process{4242, "qemu-system-x86"};
    EXPECT_THAT(devices_text(host_of({l40s(gpu)}, {held}), false),
                HasSubstr("pid 4242 (qemu-system-x86)"));
}

TEST(Tables, SayThatThereIsNothing) {
    EXPECT_THAT(gpus_text(Inventory(), false), HasSubstr("No NVIDIA GPU"));
    EXPECT_THAT(devices_text(Inventory(), false), HasSubstr("virt-vgpu doctor"));
    EXPECT_THAT(profiles_text({}, false), HasSubstr("No profile"));
}

TEST(Tables, ShowWhyAGpuMakesNoVgpus) {
    GpuInfo info = l40s(gpu);
    info.framework = std::nullopt;
    info.reason = "SR-IOV is off";
    info.total_vfs = 32;
    const auto text = gpus_text(host_of({info}, {}), false);
    EXPECT_THAT(text, HasSubstr("0/32"));
    EXPECT_THAT(text, HasSubstr("0000:41:00.0: SR-IOV is off"));
}

TEST(Tables, ShowSizesInTheUnitThatFits) {
    EXPECT_EQ(size_text(49152), "48 GiB");
    EXPECT_EQ(size_text(512), "512 MiB");
    EXPECT_EQ(size_text(0), "?");
}

TEST(Tables, ShowNoControlCharactersOfADomainsName) {
    DeviceInfo device = claimed(free_vf(), l40s_4q);
    device.claim->claim->domain_name = "vm\n\033[2J";
    const auto text = devices_text(host_of({l40s(gpu)}, {device}), false);
    EXPECT_EQ(text.find('\033'), std::string::npos);
    EXPECT_THAT(text, HasSubstr("vm??[2J"));
}

} // namespace vgpu::cli
