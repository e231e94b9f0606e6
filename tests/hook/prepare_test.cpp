#include "tests/hook/hook_process.hpp"

#include <algorithm>
#include <fstream>

namespace vgpu::test {

using ::testing::AllOf;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Le;

class Prepare : public HookTest {};

TEST_F(Prepare, ClaimsAndConfiguresTheVfOfTheXml) {
    const HookEnd end = prepare("vm1", xml_a());
    EXPECT_EQ(end.status, 0) << end.message;
    EXPECT_EQ(sim.type(vf0), type_4q);
    const auto made = claim(vf0);
    ASSERT_TRUE(made);
    EXPECT_EQ(made->state, ClaimState::configured);
    EXPECT_EQ(made->profile, profile);
    EXPECT_EQ(made->type_id, type_4q);
    EXPECT_EQ(made->domain_uuid.to_string(), uuid_a);
    EXPECT_EQ(made->domain_name, "vm1");
    EXPECT_EQ(made->device, "vgpu0");
    EXPECT_EQ(made->gpu->to_string(), "0000:41:00.0");
    EXPECT_EQ(made->device_path, sim.sysfs() + "/bus/pci/devices/0000:41:00.4");
}

// bug reports D8, facts A3: one profile, several spellings.
TEST_F(Prepare, TakesAProfileInAnySpellingAndById) {
    for (const char* spelling :
         {"L40S-4Q", "nvidia l40s-4q", "GRID L40S-4Q", "1150", "nvidia-1150"}) {
        EXPECT_EQ(prepare("vm1", xml_a(vf0, spelling)).status, 0) << spelling;
        EXPECT_EQ(claimed(vf0).profile, profile) << spelling;
        EXPECT_EQ(release("vm1", xml_a(vf0, spelling)).status, 0);
    }
    expect_all_free();
}

// I1
TEST_F(Prepare, RefusesADeviceThatAnotherDomainHasAndNamesTheHolder) {
    ASSERT_EQ(prepare("vm1", xml_a()).status, 0);
    const auto before = claim(vf0);
    const HookEnd end = prepare("vm2", xml_b());
    EXPECT_EQ(end.status, 1);
    EXPECT_THAT(end.message, AllOf(HasSubstr("vm2"), HasSubstr(vf0), HasSubstr("vm1"),
                                   HasSubstr(uuid_a), HasSubstr("virt-vgpu assign")));
    EXPECT_EQ(std::count(end.message.begin(), end.message.end(), '\n'), 1) << "one line on stderr";
    EXPECT_EQ(claim(vf0), before);
    EXPECT_EQ(sim.type(vf0), type_4q);
}

TEST_F(Prepare, RefusesAnUnknownProfileAndListsWhatThereIs) {
    const HookEnd end = prepare("vm1", xml_a(vf0, "NVIDIA L40S-5Q"));
    EXPECT_EQ(end.status, 1);
    EXPECT_THAT(end.message, AllOf(HasSubstr("NVIDIA L40S-5Q"), HasSubstr(vf0),
                                   HasSubstr("has no profile"), HasSubstr("NVIDIA L40S-")));
    expect_all_free();
}

// bug report D48
TEST_F(Prepare, SaysWhichSizeTheGpuCarriesWhenItIsAnother) {
    ASSERT_EQ(prepare("vm1", xml_a()).status, 0);
    const HookEnd end = prepare("vm2", xml_b(vf1, "NVIDIA L40S-8Q"));
    EXPECT_EQ(end.status, 1);
    EXPECT_THAT(end.message,
                AllOf(HasSubstr("4096 MiB"), HasSubstr("8192 MiB"), HasSubstr("0000:41:00.0")));
    EXPECT_EQ(claim(vf1), std::nullopt);
    EXPECT_EQ(sim.type(vf1), 0U);
    EXPECT_EQ(prepare("vm2", xml_b(vf1, "NVIDIA L40S-4A")).status, 0)
        << "another series of the same size fits";
}

TEST_F(Prepare, ConfiguresAllDevicesOfADomainOrNone) {
    const std::string both = domain_xml(
        "vm1", uuid_a,
        {{"vgpu0", profile, vf0, "", "", false}, {"vgpu1", profile, other_gpu_vf, "", "", false}});
    ASSERT_EQ(prepare("vm1", both).status, 0);
    EXPECT_EQ(sim.type(vf0), type_4q);
    EXPECT_EQ(sim.type(other_gpu_vf), type_4q);
    ASSERT_EQ(release("vm1", both).status, 0);
    expect_all_free();

    sim.control(std::string("fault ") + other_gpu_vf + " current_vgpu_type write-other EIO always");
    const HookEnd end = prepare("vm1", both);
    EXPECT_EQ(end.status, 1);
    EXPECT_THAT(end.message, AllOf(HasSubstr("vgpu1"), HasSubstr(other_gpu_vf),
                                   HasSubstr("Input/output error")));
    expect_all_free();
}

TEST_F(Prepare, RefusesOneDeviceForTwoRequests) {
    const HookEnd end = prepare("vm1", domain_xml("vm1", uuid_a,
                                                  {{"vgpu0", profile, vf0, "", "", false},
                                                   {"vgpu1", profile, vf0, "", "", false}}));
    EXPECT_EQ(end.status, 1);
    EXPECT_THAT(end.message, HasSubstr("named twice"));
    expect_all_free();
}

TEST_F(Prepare, RefusesARequestWithoutADeviceAndNamesTheCommandThatGivesOne) {
    const HookEnd end =
        prepare("vm1", domain_xml("vm1", uuid_a, {{"vgpu0", profile, "", "", "", false}}));
    EXPECT_EQ(end.status, 1);
    EXPECT_THAT(end.message, AllOf(HasSubstr("vgpu0"), HasSubstr("virt-vgpu assign vm1")));
}

TEST_F(Prepare, RefusesAVfThatDoesNotExist) { // facts libvirt 2.1: libvirt would drop it silently
    const HookEnd end = prepare("vm1", xml_a("0000:99:00.4"));
    EXPECT_EQ(end.status, 1);
    EXPECT_THAT(end.message, AllOf(HasSubstr("0000:99:00.4"), HasSubstr("no PCI device")));
}

TEST_F(Prepare, RefusesAVfOfAnotherGpuThanTheRequestNames) {
    const HookEnd end = prepare(
        "vm1", domain_xml("vm1", uuid_a, {{"vgpu0", profile, vf0, "0000:42:00.0", "", false}}));
    EXPECT_EQ(end.status, 1);
    EXPECT_THAT(end.message, AllOf(HasSubstr("0000:41:00.0"), HasSubstr("0000:42:00.0")));
    // bug report D4: the form nvidia-smi prints is the same GPU
    EXPECT_EQ(prepare("vm1", domain_xml("vm1", uuid_a,
                                        {{"vgpu0", profile, vf0, "00000000:41:00.0", "", false}}))
                  .status,
              0);
}

// I6
TEST_F(Prepare, TouchesOnlyGpusThatTheConfigurationGives) {
    config = write_config("[gpus]\nmanaged = [\"0000:42:00.0\"]\n");
    const HookEnd end = prepare("vm1", xml_a());
    EXPECT_EQ(end.status, 1);
    EXPECT_THAT(end.message, AllOf(HasSubstr(vf0), HasSubstr("not given to virt-vgpu")));
    EXPECT_EQ(prepare("vm2", xml_b(other_gpu_vf)).status, 0);

    config = write_config("[gpus]\nignored = [\"0000:41:00.5\"]\n");
    EXPECT_EQ(prepare("vm1", xml_a(vf1)).status, 1);
    EXPECT_EQ(prepare("vm1", xml_a(vf0)).status, 0);
}

TEST_F(Prepare, RefusesAManagedVfSinceLibvirtWouldUnbindIt) {
    const std::string managed = domain_xml("vm1", uuid_a, {{"vgpu0", profile, vf0, "", "", true}});
    EXPECT_THAT(prepare("vm1", managed).message, HasSubstr("managed='no'"));
    const HookEnd foreign =
        prepare("vm2", domain_xml("vm2", uuid_b, {{"", "", vf0, "", "", true}}));
    EXPECT_EQ(foreign.status, 1) << "in a domain that asked us for nothing as well";
    EXPECT_THAT(foreign.message, HasSubstr(vf0));
    expect_all_free();
}

// hypeman 3.1: dirty and not open; bug report D63
TEST_F(Prepare, ResetsADirtyVfBeforeItIsConfigured) {
    sim.control(std::string("set-type ") + vf0 + " 1159");
    EXPECT_EQ(prepare("vm1", xml_a()).status, 0);
    EXPECT_EQ(sim.type(vf0), type_4q);
}

// hypeman 2.1 (5): what an earlier guest left behind would survive
TEST_F(Prepare, ResetsADirtyVfEvenIfItCarriesTheWantedType) {
    sim.control(std::string("set-type ") + vf0 + " 1150");
    EXPECT_EQ(prepare("vm1", xml_a()).status, 0);
    EXPECT_EQ(sim.type(vf0), type_4q);
    EXPECT_EQ(sim.counter(std::string(vf0) + ".resets"), 1U);
}

// hypeman 3.1: dirty and held open
TEST_F(Prepare, LeavesADirtyVfAloneThatAProcessHolds) {
    sim.control(std::string("set-type ") + vf0 + " 1159");
    sim.control("process-add 4242 comm=qemu-system-x86");
    sim.control(std::string("process-fd 4242 20 cdev:") + vf0);
    const HookEnd end = prepare("vm1", xml_a());
    EXPECT_EQ(end.status, 1);
    EXPECT_THAT(end.message, AllOf(HasSubstr("4242"), HasSubstr(vf0)));
    EXPECT_EQ(sim.type(vf0), 1159U);
    EXPECT_THAT(claim_files(), IsEmpty());
}

// hypeman 3.2: a dirty VF of another type hides the profile
TEST_F(Prepare, RepairsDirtySiblingsThatHideTheProfile) {
    sim.control(std::string("set-type ") + vf1 + " 1156"); // 48Q takes the whole GPU
    const HookEnd end = prepare("vm1", xml_a());
    EXPECT_EQ(end.status, 0) << end.message;
    EXPECT_EQ(sim.type(vf0), type_4q);
    EXPECT_EQ(sim.type(vf1), 0U);
    EXPECT_EQ(sim.type(other_gpu_vf), 0U);
}

// hypeman 2.1 (4), its hazard: a mistyped name reset every unclaimed VF of the host
TEST_F(Prepare, RepairsNothingForAProfileThatDoesNotExist) {
    ASSERT_EQ(prepare("vm1", xml_a(other_gpu_vf)).status, 0);
    ASSERT_EQ(prepare("vm2", xml_b(vf0, "no such profile")).status, 1);
    sim.control(std::string("set-type ") + vf1 + " 1149");
    EXPECT_EQ(prepare("vm2", xml_b(vf0, "NVIDIA L40S-5Q")).status, 1);
    EXPECT_EQ(sim.type(vf1), 1149U);
}

// hypeman 3.2: the only dirty VF is claimed by another: never reset
TEST_F(Prepare, DoesNotRepairASiblingThatIsClaimed) {
    ASSERT_EQ(prepare("vm1", xml_a(vf1, "NVIDIA L40S-48Q")).status, 0);
    const HookEnd end = prepare("vm2", xml_b());
    EXPECT_EQ(end.status, 1);
    EXPECT_EQ(sim.type(vf1), 1156U);
    EXPECT_EQ(claimed(vf1).domain_name, "vm1");
}

TEST_F(Prepare, WritesTheParametersOfTheRequest) {
    const std::string xml =
        domain_xml("vm1", uuid_a, {{"vgpu0", profile, vf0, "", "frame_rate_limiter=0", false}});
    ASSERT_EQ(prepare("vm1", xml).status, 0);
    std::string line;
    std::ifstream(sim.device(vf0) + "/nvidia/vgpu_params") >> line;
    EXPECT_EQ(line, "frame_rate_limiter=0");
}

// bug report D65
TEST_F(Prepare, TakesTheTypeBackWhenTheParametersAreRefused) {
    sim.control(std::string("fault ") + vf0 + " vgpu_params write EINVAL always");
    const HookEnd end = prepare(
        "vm1", domain_xml("vm1", uuid_a, {{"vgpu0", profile, vf0, "", "nonsense=1", false}}));
    EXPECT_EQ(end.status, 1);
    EXPECT_THAT(end.message, HasSubstr("vgpu_params"));
    expect_all_free();
}

// A copy has intent, no claim: it gets what its XML names only if nobody has it (bug report D78).
TEST_F(Prepare, GivesACloneNothingThatItsSourceHas) {
    ASSERT_EQ(prepare("vm1", xml_a()).status, 0);
    std::string clone = xml_a();
    for (std::size_t at = clone.find("<uuid>"); at != std::string::npos; at = std::string::npos) {
        clone.replace(at + 6, 36, uuid_b);
    }
    const HookEnd end = prepare("clone", clone);
    EXPECT_EQ(end.status, 1);
    EXPECT_THAT(end.message, HasSubstr("vm1"));
    EXPECT_EQ(release("clone", clone).status, 0);
    EXPECT_EQ(claimed(vf0).domain_uuid.to_string(), uuid_a)
        << "a clone's release changes nothing (I5)";
    EXPECT_EQ(sim.type(vf0), type_4q);
}

TEST_F(Prepare, FinishesAnotherDomainsDrainingClaim) {
    ASSERT_EQ(prepare("vm1", xml_a()).status, 0);
    edit_claim(vf0, [](Claim& c) { c.state = ClaimState::draining; });
    EXPECT_EQ(prepare("vm2", xml_b()).status, 0);
    EXPECT_EQ(claimed(vf0).domain_name, "vm2");
    EXPECT_EQ(sim.counter(std::string(vf0) + ".resets"), 1U);
}

// design: a claim of another boot has no living VMM
TEST_F(Prepare, TakesOverAClaimOfAnEarlierBoot) {
    ASSERT_EQ(prepare("vm1", xml_a()).status, 0);
    reboot();
    const HookEnd end = prepare("vm2", xml_b());
    EXPECT_EQ(end.status, 0) << end.message;
    EXPECT_EQ(claimed(vf0).domain_name, "vm2");
}

TEST_F(Prepare, DrainsOwnClaimsOnDevicesThatTheXmlNoLongerNames) {
    ASSERT_EQ(prepare("vm1", xml_a(vf0)).status, 0);
    ASSERT_EQ(prepare("vm1", xml_a(vf1)).status, 0);
    EXPECT_EQ(claim(vf0), std::nullopt) << "nothing stood in the way of its release";
    EXPECT_EQ(sim.type(vf0), 0U);
    EXPECT_EQ(claimed(vf1).state, ClaimState::configured);
}

TEST_F(Prepare, GivesEachStartAnIncarnationOfItsOwn) {
    ASSERT_EQ(prepare("vm1", xml_a()).status, 0);
    const auto first = claim(vf0);
    ASSERT_EQ(prepare("vm1", xml_a()).status, 0) << "its last start died without a release";
    EXPECT_NE(claimed(vf0).incarnation, first->incarnation);
}

// hypeman 3.2: claimed although nothing is configured on it
TEST_F(Prepare, RefusesAReservedVfThoughItIsClean) {
    ASSERT_EQ(prepare("vm1", xml_a()).status, 0);
    edit_claim(vf0, [](Claim& c) { c.state = ClaimState::claimed; });
    sim.control(std::string("set-type ") + vf0 + " 0");
    const HookEnd end = prepare("vm2", xml_b());
    EXPECT_EQ(end.status, 1);
    EXPECT_THAT(end.message, HasSubstr("vm1"));
    EXPECT_EQ(claimed(vf0).domain_name, "vm1");
    EXPECT_EQ(sim.type(vf0), 0U);
}

// hypeman 3.2: the only VF is dirty and refuses its reset. It is reserved for nobody.
TEST_F(Prepare, NamesADirtyVfThatRefusesItsReset) {
    sim.control(std::string("set-type ") + vf0 + " 1159");
    sim.control(std::string("fault ") + vf0 + " current_vgpu_type write-zero EIO always");
    const HookEnd end = prepare("vm1", xml_a());
    EXPECT_EQ(end.status, 1);
    EXPECT_THAT(end.message, AllOf(HasSubstr(vf0), HasSubstr("Input/output error")));
    EXPECT_EQ(sim.type(vf0), 1159U);
    ASSERT_TRUE(claim(vf0));
    EXPECT_EQ(claimed(vf0).state, ClaimState::draining);
    sim.control("faults-clear");
    EXPECT_EQ(prepare("vm2", xml_b()).status, 0);
    EXPECT_EQ(claimed(vf0).domain_name, "vm2");
    EXPECT_EQ(sim.type(vf0), type_4q);
}

// hypeman 3.2: two dirty ones, the first refuses its reset
TEST_F(Prepare, RepairsTheNextSiblingWhenOneRefusesItsReset) {
    const char* const vf2 = "0000:41:00.6";
    sim.control(std::string("set-type ") + vf1 + " 1150");
    sim.control(std::string("set-type ") + vf2 + " 1152"); // 8Q: no 4Q beside it
    sim.control(std::string("fault ") + vf1 + " current_vgpu_type write-zero EIO always");
    const HookEnd end = prepare("vm1", xml_a());
    EXPECT_EQ(end.status, 0) << end.message;
    EXPECT_EQ(sim.type(vf0), type_4q);
    EXPECT_EQ(sim.type(vf1), 1150U);
    EXPECT_EQ(sim.type(vf2), 0U);
}

// hypeman 3.1: of the orphans the free one is cleared, the held one kept
TEST_F(Prepare, RepairsNoSiblingThatAProcessHolds) {
    const char* const vf2 = "0000:41:00.6";
    sim.control(std::string("set-type ") + vf1 + " 1150");
    sim.control(std::string("set-type ") + vf2 + " 1152");
    sim.control("process-add 4242 comm=qemu-system-x86");
    sim.control(std::string("process-fd 4242 20 cdev:") + vf1);
    const HookEnd end = prepare("vm1", xml_a());
    EXPECT_EQ(end.status, 0) << end.message;
    EXPECT_EQ(sim.type(vf1), 1150U);
    EXPECT_EQ(sim.type(vf2), 0U);
    EXPECT_EQ(sim.counter("writes_while_open"), 0U);
}

// hypeman 3.2: a claim says since when
TEST_F(Prepare, NotesTheTimeOfTheClaim) {
    const std::string before = utc_now();
    ASSERT_EQ(prepare("vm1", xml_a()).status, 0);
    EXPECT_THAT(claimed(vf0).claimed_at, AllOf(Ge(before), Le(utc_now())));
}

// bug reports D16, D17: what the last boot knew of a device counts for nothing, the device does
TEST_F(Prepare, ConfiguresItsVfAnewAfterAReboot) {
    ASSERT_EQ(prepare("vm1", xml_a()).status, 0);
    const auto before = claim(vf0);
    reboot();
    ASSERT_EQ(sim.type(vf0), 0U);
    EXPECT_EQ(prepare("vm1", xml_a()).status, 0);
    EXPECT_EQ(sim.type(vf0), type_4q);
    EXPECT_NE(claimed(vf0).boot_id, before->boot_id);
    EXPECT_EQ(claim_files().size(), 1U);
}

// bug report D85: the request was changed while the domain was off
TEST_F(Prepare, GivesItsNextStartAnotherProfile) {
    ASSERT_EQ(prepare("vm1", xml_a()).status, 0);
    const HookEnd end = prepare("vm1", xml_a(vf0, "NVIDIA L40S-8Q"));
    EXPECT_EQ(end.status, 0) << end.message;
    EXPECT_EQ(sim.type(vf0), 1152U);
    EXPECT_EQ(claimed(vf0).type_id, 1152U);
    EXPECT_EQ(claimed(vf0).profile, "NVIDIA L40S-8Q");
}

} // namespace vgpu::test
