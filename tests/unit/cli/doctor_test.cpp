#include "agent/cli/doctor.hpp"
#include "tests/support/temp_dir.hpp"
#include "tests/unit/cli/findings.hpp"
#include "tests/unit/cli/made_up.hpp"
#include "tests/unit/cli/simulated_host.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>

namespace vgpu::cli {

namespace {

using test::lines_of;
using test::SimulatedHost;
using test::write_file;
using testing::HasSubstr;
using testing::Not;

using CheckFunction = void (*)(const Examination&, Findings&);

constexpr const char* vf = "0000:41:00.4";
constexpr const char* own_uuid = "f0f0f0f0-0000-4000-8000-000000000001";
constexpr const char* other_uuid = "f0f0f0f0-0000-4000-8000-000000000002";

/// A host with one card of two VFs, and whatever else a test puts on it.
class Doctor : public testing::Test {
protected:
    explicit Doctor(std::string config = "gpu 0000:41:00.0 model=L40S vfs=2 total-vfs=2\n")
        : host(std::move(config)) {}

    std::string check(CheckFunction function) {
        const Inventory inventory = host.inventory();
        const Examination examination{host.host,
                                      inventory,
                                      libvirt,
                                      read_domains(domains),
                                      daemons,
                                      "/no/such/hook",
                                      mdevctl.path().string()};
        Findings findings;
        function(examination, findings);
        return lines_of(findings);
    }

    /// Adds a domain with a request for the VF, shut off or running.
    void add_domain(const std::string& name, const std::string& uuid, bool active,
                    const std::string& managed = "no", const std::string& written_for = {}) {
        DomainInfo info;
        info.uuid = Uuid::parse(uuid).value();
        info.name = name;
        info.active = active;
        info.xml =
            "<domain type='kvm'><name>" + name + "</name><uuid>" + uuid +
            "</uuid><metadata><v:devices xmlns:v='urn:virt-vgpu:domain:1' domain='" +
            (written_for.empty() ? uuid : written_for) +
            "'><v:device name='vgpu0' profile='NVIDIA L40S-4Q'/></v:devices></metadata><devices>"
            "<hostdev mode='subsystem' type='pci' managed='" +
            managed +
            "'><source><address domain='0x0000' bus='0x41' slot='0x00' function='0x4'/></source>"
            "<alias name='ua-vgpu0'/></hostdev></devices></domain>";
        info.live_xml = active ? info.xml : "";
        domains.push_back(info);
    }
    void claim(ClaimState state = ClaimState::configured) {
        Claim made = host.claim_on(vf, "NVIDIA L40S-4Q", 1150);
        made.state = state;
        host.store(vf, made);
    }

    SimulatedHost host;
    test::TempDir mdevctl;
    Result<LibvirtState> libvirt = LibvirtState{{"QEMU", 11003000, 10000013}, {}};
    std::vector<DomainInfo> domains;
    std::vector<DaemonProcess> daemons;
};

} // namespace

TEST_F(Doctor, FindsNothingWrongWithAHealthyCard) {
    const auto lines = check(check_gpus);
    EXPECT_THAT(lines, HasSubstr("ok gpus: GPU 0000:41:00.0 (NVIDIA L40S) makes vGPUs by "
                                 "vendor-vfio, 2 of 2 VFs enabled"));
    EXPECT_THAT(lines, Not(HasSubstr("warning")));
    EXPECT_THAT(lines, Not(HasSubstr("failure")));
}

TEST_F(Doctor, SaysThatTheIommuIsOff) {
    host.configuration.paths.sysfs = mdevctl.path().string();
    PosixSysfs empty(mdevctl.path().string());
    const Inventory inventory = test::host_of({test::l40s("0000:41:00.0")}, {});
    Host other{host.configuration, empty,          host.locks,        host.claims,
               host.proc,          host.witnesses, host.host.boot_id, host.host.note};
    const Examination examination{other, inventory, libvirt, {}, {}, "", ""};
    Findings findings;
    check_iommu(examination, findings);
    EXPECT_THAT(lines_of(findings), HasSubstr("failure iommu: off"));
    EXPECT_THAT(lines_of(findings), HasSubstr("intel_iommu=on"));
}

TEST_F(Doctor, SaysHowToEnableVfs) {
    host.simulator.control("sriov 0000:41:00.0 off");
    const auto lines = check(check_gpus);
    EXPECT_THAT(lines, HasSubstr("failure gpus"));
    EXPECT_THAT(lines, HasSubstr("sriov-manage -e 0000:41:00.0"));
}

TEST_F(Doctor, TellsAVfThatIsBoundElsewhere) {
    host.simulator.control("unbind 0000:41:00.4");
    EXPECT_THAT(check(check_gpus), HasSubstr("VF 0000:41:00.4 is bound to no driver"));
}

TEST_F(Doctor, NamesADeviceThatCannotBeRead) {
    host.simulator.control("fault 0000:41:00.5 current_vgpu_type read EIO always");
    EXPECT_THAT(check(check_gpus), HasSubstr("warning gpus: 0000:41:00.5 cannot be used"));
}

// bug report D18
TEST(DoctorGpus, TellsAMissingDriverFromAForeignOne) {
    SimulatedHost host(
        "gpu 0000:41:00.0 vfs=0 driver=none\ngpu 0000:42:00.0 vfs=0 driver=vfio-pci\n");
    const Inventory inventory = host.inventory();
    Findings findings;
    check_gpus({host.host, inventory, fail(ErrorCode::unavailable, ""), {}, {}, "", ""}, findings);
    EXPECT_THAT(lines_of(findings), HasSubstr("failure gpus: GPU 0000:41:00.0 (PCI 10de:26b9) has "
                                              "no driver"));
    EXPECT_THAT(lines_of(findings), HasSubstr("warning gpus: GPU 0000:42:00.0"));
}

// bug report D35
TEST(DoctorGpus, HintsAtMigModeWithoutInstances) {
    SimulatedHost host("gpu 0000:41:00.0 model=H200X vfs=2 mig=on\n");
    const Inventory inventory = host.inventory();
    Findings findings;
    check_gpus({host.host, inventory, fail(ErrorCode::unavailable, ""), {}, {}, "", ""}, findings);
    EXPECT_THAT(lines_of(findings), HasSubstr("nvidia-smi mig"));
}

TEST(DoctorGpus, FailsOnAHostWithoutGpus) {
    SimulatedHost host("other 0000:05:00.0 vendor=0x8086 class=0x030000\n");
    const Inventory inventory = host.inventory();
    Findings findings;
    check_gpus({host.host, inventory, fail(ErrorCode::unavailable, ""), {}, {}, "", ""}, findings);
    EXPECT_EQ(findings.count(Level::failure), 1);
}

TEST_F(Doctor, WantsLibvirt97ForVfs) {
    libvirt->facts.libvirt = 9000000;
    EXPECT_THAT(check(check_libvirt), HasSubstr("failure libvirt: the libvirt daemon is 9.0.0"));
    libvirt->facts.libvirt = 9007000;
    EXPECT_THAT(check(check_libvirt), HasSubstr("ok libvirt: the daemon is 9.7.0 (10.0"));
    libvirt->facts.libvirt = 12001000;
    EXPECT_THAT(check(check_libvirt), HasSubstr("warning libvirt: the daemon is 12.1.0"));
    libvirt->facts.hypervisor = 0;
    EXPECT_THAT(check(check_libvirt), HasSubstr("failure qemu"));
}

// I10
TEST_F(Doctor, WorksWithoutLibvirtAndConcludesNothingFromIt) {
    libvirt = fail(ErrorCode::timeout, "the libvirt daemon at qemu:///system does not answer");
    claim();
    EXPECT_THAT(check(check_libvirt), HasSubstr("failure libvirt: qemu:///system cannot be asked"));
    EXPECT_THAT(check(check_domains), HasSubstr("skipped domains"));
    EXPECT_THAT(check(check_claims), HasSubstr("ok claims: 1 claim"));
    EXPECT_THAT(check(check_gpus), HasSubstr("ok gpus"));
}

TEST_F(Doctor, TriesWhatAClaimNeedsOfTheStateDirectory) {
    std::filesystem::create_directories(host.simulator.state() + "/claims");
    const auto lines = check(check_storage);
    EXPECT_THAT(lines, HasSubstr("ok state: " + host.simulator.state() + "/claims"));
    EXPECT_THAT(lines, HasSubstr("ok runtime"));
    EXPECT_TRUE(std::filesystem::is_empty(host.simulator.state() + "/claims"));
}

TEST_F(Doctor, FailsOnAStateDirectoryThatCannotCarryClaims) {
    host.configuration.paths.state = host.simulator.mount(); // a file system that takes no files
    EXPECT_THAT(check(check_storage), HasSubstr("failure state"));
}

TEST_F(Doctor, KnowsADirtyDevice) {
    host.simulator.control("set-type 0000:41:00.4 1150");
    EXPECT_THAT(check(check_devices), HasSubstr("warning devices: 0000:41:00.4 carries NVIDIA "
                                                "L40S-4Q (type 1150) and nobody has claimed it -> "
                                                "virt-vgpu release 0000:41:00.4"));
}

TEST_F(Doctor, NamesWhoHoldsADeviceWithoutAClaim) {
    host.simulator.control("process-add 4242 comm=qemu-system-x86");
    host.simulator.control("process-fd 4242 7 group:0000:41:00.4");
    EXPECT_THAT(check(check_devices), HasSubstr("held open by pid 4242 (qemu-system-x86)"));
}

TEST_F(Doctor, TellsHowLongAClaimHasBeenDraining) {
    claim(ClaimState::draining);
    EXPECT_THAT(check(check_claims), HasSubstr("draining for "));
}

TEST_F(Doctor, FailsOnAClaimThatCannotBeRead) {
    write_file(host.simulator.state() + "/claims/pci-0000:41:00.4.json", "{");
    EXPECT_THAT(check(check_claims), HasSubstr("failure claims"));
    EXPECT_THAT(check(check_claims), HasSubstr("--force"));
}

// bug report D36
TEST_F(Doctor, KnowsClaimsWithoutDomains) {
    claim();
    EXPECT_THAT(check(check_claims), HasSubstr("libvirt knows no such domain"));
}

TEST_F(Doctor, KnowsAClaimThatOutlivedItsDomainsRun) {
    claim();
    add_domain("vm1", own_uuid, false);
    EXPECT_THAT(check(check_claims), HasSubstr("the domain is shut off"));
}

TEST_F(Doctor, IsContentWithARunningDomainAndItsClaim) {
    claim();
    add_domain("vm1", own_uuid, true);
    EXPECT_THAT(check(check_claims), HasSubstr("ok claims: 1 claim"));
    EXPECT_THAT(check(check_domains), HasSubstr("ok domains: 1 domain"));
}

TEST_F(Doctor, FailsOnARunningDomainWithoutAClaim) {
    add_domain("vm1", own_uuid, true);
    EXPECT_THAT(check(check_domains),
                HasSubstr("failure domains: vm1 is running with 0000:41:00.4 and has no claim"));
}

TEST_F(Doctor, FailsOnARunningDomainWithAnothersClaim) {
    claim();
    add_domain("vm2", other_uuid, true);
    EXPECT_THAT(check(check_domains), HasSubstr("which is claimed by domain vm1"));
}

TEST_F(Doctor, KnowsTwoDomainsThatNameOneDevice) {
    add_domain("vm1", own_uuid, false);
    add_domain("vm2", other_uuid, false);
    EXPECT_THAT(check(check_domains), HasSubstr("is the device of 2 domains: vm1, vm2"));
}

TEST_F(Doctor, KnowsACopy) {
    add_domain("vm2", other_uuid, false, "no", own_uuid);
    EXPECT_THAT(check(check_domains), HasSubstr("vm2 is a copy of domain"));
    EXPECT_THAT(check(check_domains), HasSubstr("virt-vgpu assign vm2"));
}

TEST_F(Doctor, FailsOnAVfThatLibvirtWouldTakeFromItsDriver) {
    add_domain("vm1", own_uuid, false, "yes");
    EXPECT_THAT(check(check_domains), HasSubstr("failure domains: vm1 has 0000:41:00.4 with "
                                                "managed='yes'"));
}

// bug report D69
TEST_F(Doctor, WarnsOfADomainThatHasTheGpuOfLivingVgpus) {
    claim();
    DomainInfo info;
    info.uuid = Uuid::parse(other_uuid).value();
    info.name = "whole";
    info.xml =
        std::string("<domain type='kvm'><name>whole</name><uuid>") + other_uuid +
        "</uuid><devices><hostdev mode='subsystem' type='pci' managed='yes'><source><address "
        "domain='0' bus='0x41' slot='0' function='0'/></source></hostdev></devices></domain>";
    domains.push_back(info);
    EXPECT_THAT(check(check_domains), HasSubstr("has the whole GPU 0000:41:00.0"));
}

TEST_F(Doctor, NamesADomainWhoseXmlCannotBeRead) {
    DomainInfo info;
    info.name = "broken";
    info.xml = "<domain>";
    domains.push_back(info);
    EXPECT_THAT(check(check_libvirt), HasSubstr("the XML of domain broken"));
}

TEST_F(Doctor, WarnsOfMdevsThatMdevctlMakesByItself) {
    write_file(mdevctl / "0000:41:00.4/2f6c1f0a-52c1-4b8e-9d0b-6f3c6f0a7e11",
               R"({"mdev_type":"nvidia-744","start":"auto"})");
    write_file(mdevctl / "0000:41:00.5/2f6c1f0a-52c1-4b8e-9d0b-6f3c6f0a7e12",
               R"({"mdev_type":"nvidia-744","start":"manual"})");
    write_file(mdevctl / "0000:41:00.5/2f6c1f0a-52c1-4b8e-9d0b-6f3c6f0a7e13", "{broken");
    const auto lines = check(check_mdevctl);
    EXPECT_THAT(lines, HasSubstr("2f6c1f0a-52c1-4b8e-9d0b-6f3c6f0a7e11 on 0000:41:00.4"));
    EXPECT_THAT(lines, Not(HasSubstr("7e12")));
    EXPECT_THAT(lines, Not(HasSubstr("7e13")));
}

// bug report D58
TEST_F(Doctor, FailsOnADaemonThatCannotLetGuestsLockTheirMemory) {
    daemons = {{77, "libvirtd", std::nullopt, "", false, "65536 65536 bytes"}};
    EXPECT_THAT(check(check_security), HasSubstr("failure memlock"));
    daemons = {{77, "libvirtd", std::nullopt, "", true, "65536 65536 bytes"}};
    EXPECT_THAT(check(check_security), HasSubstr("ok memlock"));
    daemons = {{77, "libvirtd", std::nullopt, "", false, "unlimited unlimited bytes"}};
    EXPECT_THAT(check(check_security), HasSubstr("ok memlock"));
}

TEST(Findings, AreReportedForPeopleAndPrograms) {
    Findings findings;
    findings.ok("iommu", "on");
    findings.warn("claims", "one is old", "release it");
    findings.fail("hook", "not installed", "install it");
    findings.skip("domains", "libvirt could not be asked");
    EXPECT_EQ(findings_text(findings, false), "[ ok ] iommu    on\n"
                                              "[warn] claims   one is old\n"
                                              "                -> release it\n"
                                              "[FAIL] hook     not installed\n"
                                              "                -> install it\n"
                                              "[skip] domains  libvirt could not be asked\n"
                                              "\n"
                                              "1 failure, 1 warning\n");
    const auto json = nlohmann::json::parse(findings_json(findings));
    ASSERT_EQ(json.size(), 4U);
    EXPECT_EQ(json[1]["status"], "warning");
    EXPECT_EQ(json[1]["advice"], "release it");
    EXPECT_TRUE(json[0]["advice"].is_null());
}

} // namespace vgpu::cli
