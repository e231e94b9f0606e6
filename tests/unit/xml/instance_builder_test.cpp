#include "tests/unit/xml/domain_files.hpp"
#include "tests/unit/xml/instance_files.hpp"
#include "tests/unit/xml/schema_validator.hpp"
#include "xml/instance_builder.hpp"
#include "xml/instance_metadata.hpp"
#include "xml/instance_request.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vgpu::xml {
namespace {

using testing::HasSubstr;
using testing::Not;

const DeviceKey first_mdev(uuid("d0c0b0a0-1111-4222-8333-444455556666"));
const DeviceKey second_mdev(uuid("d0c0b0a0-1111-4222-8333-444455556667"));
const DeviceKey first_vf(pci("0000:41:00.5"));
const DeviceKey second_vf(pci("10000:c8:1f.7"));

std::string built(const InstanceRequest& request, std::string_view virt_type = "kvm") {
    return value_of(instance_xml(request, instance_uuid(), virt_type));
}

std::string built_from(const std::string& members, std::string_view virt_type = "kvm") {
    return built(request_from(json_with(members)), virt_type);
}

/// A device for each vGPU of the request.
std::vector<DeviceKey> devices_for(const InstanceRequest& request, bool mdev) {
    std::vector<DeviceKey> devices =
        mdev ? std::vector{first_mdev, second_mdev} : std::vector{first_vf, second_vf};
    devices.resize(request.gpus.size(), first_vf);
    return devices;
}

void expect_valid(const std::string& what, const std::string& xml) {
    for (const std::string& schema : libvirt_schemas()) {
        EXPECT_EQ(schema_errors(schema, xml), "") << schema << "\n" << what << "\n" << xml;
    }
}

TEST(InstanceXml, SatisfiesLibvirtsSchemaWithAndWithoutDevices) {
    if (libvirt_schemas().empty()) {
        GTEST_SKIP() << "libvirt's schemas are not installed, see schema_test.cpp";
    }
    for (const auto& [name, request] : sample_requests()) {
        for (const char* type : {"kvm", "qemu"}) {
            if (std::string_view(type) == "qemu" && request.cpu.starts_with("host-")) {
                continue;
            }
            const std::string xml = built(request, type);
            expect_valid(name, xml);
            expect_valid(name, value_of(with_devices(xml, request, devices_for(request, true))));
            if (request.gpus.empty() || !request.gpus[0].display) {
                expect_valid(name,
                             value_of(with_devices(xml, request, devices_for(request, false))));
            }
        }
    }
}

TEST(InstanceXml, SaysWhoItIsAndWhatItWasMadeFrom) {
    for (const auto& [name, request] : sample_requests()) {
        const std::string xml = built(request);
        const DomainView view = value_of(read_domain(xml));
        EXPECT_EQ(view.name, request.name);
        EXPECT_EQ(view.uuid, instance_uuid());
        EXPECT_FALSE(view.has_request);
        EXPECT_EQ(value_of(instance_request_of(xml)), request_text(request)) << name;
    }
}

TEST(InstanceXml, IsTheSameForTheSameRequest) {
    EXPECT_EQ(built(minimal_request()), built(minimal_request()));
}

TEST(InstanceXml, TheSmallestRequestGetsTheUsualMachine) {
    const std::string xml = built(minimal_request());
    EXPECT_THAT(xml, HasSubstr(R"(<domain type="kvm">)"));
    EXPECT_THAT(xml, HasSubstr(R"(<memory unit="KiB">2097152</memory>)"));
    EXPECT_THAT(xml, HasSubstr(R"(<vcpu placement="static">2</vcpu>)"));
    EXPECT_THAT(xml, HasSubstr(R"(<type arch="x86_64" machine="q35">hvm</type>)"));
    EXPECT_THAT(xml, HasSubstr(R"(<cpu mode="host-passthrough"/>)"));
    EXPECT_THAT(xml, HasSubstr(R"(<serial type="pty">)"));
    EXPECT_THAT(xml, HasSubstr(R"(<memballoon model="virtio"/>)"));
    EXPECT_THAT(xml, HasSubstr("<backend model=\"random\">/dev/urandom</backend>"));
    for (const char* absent : {"<disk", "<interface", "<graphics", "<video", "<boot", "firmware",
                               "pci-root", "<hostdev", "commandline", "<address"}) {
        EXPECT_THAT(xml, Not(HasSubstr(absent)));
    }
}

TEST(InstanceXml, WithoutKvmTheCpuIsOneThatQemuEmulates) {
    EXPECT_THAT(built(minimal_request(), "qemu"), HasSubstr(R"(<cpu mode="maximum"/>)"));
    EXPECT_THAT(built_from(R"("cpu":"qemu64")", "qemu"),
                HasSubstr(R"(<model fallback="forbid">qemu64</model>)"));
    const auto refused =
        instance_xml(request_from(json_with(R"("cpu":"host-model")")), instance_uuid(), "qemu");
    ASSERT_FALSE(refused.has_value());
    EXPECT_THAT(refused.error().text(), HasSubstr("needs virt_type kvm"));
}

TEST(InstanceXml, TheDomainTypeHasToBeDecided) {
    for (const char* type : {"", "xen", "KVM"}) {
        const auto refused = instance_xml(minimal_request(), instance_uuid(), type);
        ASSERT_FALSE(refused.has_value());
        EXPECT_EQ(refused.error().code(), ErrorCode::invalid);
    }
    const InstanceRequest said = request_from(json_with(R"("virt_type":"qemu")"));
    EXPECT_EQ(value_of(virt_type_of(built(said, "kvm"))), "qemu");
}

TEST(InstanceXml, TargetsAreGivenOutInOrder) {
    const std::string xml = built(sample_requests()[5].second);
    for (const char* target : {"vda", "sda", "sdb", "sdc", "sdd", "sde", "sdf"}) {
        EXPECT_THAT(xml, HasSubstr("<target dev=\"" + std::string(target) + "\""));
    }
    EXPECT_THAT(xml, HasSubstr(R"(<source dev="/dev/vg/lv"/>)"));
    EXPECT_THAT(xml, HasSubstr(R"(<source file="/var/lib/a b&amp;c.qcow2"/>)"));
    InstanceRequest many = minimal_request();
    for (int i = 0; i < 28; ++i) {
        many.disks.push_back({"/disk" + std::to_string(i), "raw", "", false, false, {}});
    }
    EXPECT_THAT(built(many), HasSubstr(R"(<target dev="vdaa" bus="virtio"/>)"));
    EXPECT_THAT(built(many), HasSubstr(R"(<target dev="vdab" bus="virtio"/>)"));
}

TEST(InstanceXml, BootOrderOfDevicesReplacesTheGeneralOne) {
    EXPECT_THAT(built_from(R"("disks":[{"path":"/a","format":"raw"}])"),
                HasSubstr(R"(<boot dev="hd"/>)"));
    const std::string ordered = built_from(R"("disks":[{"path":"/a","format":"raw"}],
                                              "networks":[{"network":"n","boot_order":1}])");
    EXPECT_THAT(ordered, HasSubstr(R"(<boot order="1"/>)"));
    EXPECT_THAT(ordered, Not(HasSubstr("<boot dev")));
}

TEST(InstanceXml, TextCannotBecomeMarkup) {
    InstanceRequest request = minimal_request();
    request.name = "a<b>&amp;\"']]>";
    request.title = "</title><devices/>";
    request.description = "]]><!DOCTYPE x [<!ENTITY e 'x'>]>&e;";
    request.kernel = "/k&lt;\"'";
    request.cmdline = "<!-- --> <?pi?> &#0;";
    request.disks.push_back({"/d\"/><x y=\"", "raw", "", false, false, {}});
    request.networks.push_back({"n'><y/>", "", "", "", {}});
    request.gpus[0].profile = "\"/></vgpu:device>";
    request.gpus[0].params = "]]>&<";
    const std::string xml = value_of(with_devices(built(request), request, {first_vf}));
    const DomainView view = value_of(read_domain(xml));
    EXPECT_EQ(view.name, request.name);
    ASSERT_EQ(view.requests.size(), 1U);
    EXPECT_EQ(view.requests[0], static_cast<VgpuRequest>(request.gpus[0]));
    EXPECT_EQ(value_of(instance_request_of(xml)), request_text(request));
    EXPECT_EQ(view.hostdevs.size(), 1U);
    EXPECT_THAT(xml, Not(HasSubstr("<!")));
}

TEST(InstanceXml, AStructThatNobodyParsedIsCheckedToo) {
    InstanceRequest request = minimal_request();
    request.gpus[0].name = "";
    EXPECT_FALSE(instance_xml(request, instance_uuid(), "kvm").has_value());
    request = minimal_request();
    request.title = std::string("a\0b", 3);
    EXPECT_FALSE(instance_xml(request, instance_uuid(), "kvm").has_value());
    request = minimal_request();
    request.cmdline = std::string(10'000'000, 'x');
    request.kernel = "/k";
    EXPECT_FALSE(instance_xml(request, instance_uuid(), "kvm").has_value());
}

TEST(WithDevices, PointsEachVgpuAtItsDevice) {
    const InstanceRequest request =
        request_from(json_with(R"("gpus":[{"profile":"p"},{"profile":"q","name":"b"}])"));
    for (const bool mdev : {false, true}) {
        const auto devices = devices_for(request, mdev);
        const std::string xml = value_of(with_devices(built(request), request, devices));
        const DomainView view = value_of(read_domain(xml));
        ASSERT_EQ(view.requests.size(), 2U);
        ASSERT_EQ(view.hostdevs.size(), 2U);
        EXPECT_FALSE(view.is_copy());
        EXPECT_EQ(view.requests[1].name, "b");
        EXPECT_EQ(view.hostdevs[0].alias, "ua-vgpu0");
        EXPECT_EQ(view.hostdevs[1].alias, "ua-b");
        EXPECT_EQ(view.hostdevs[0].address.has_value(), !mdev);
        EXPECT_EQ(value_of(with_devices(xml, request, devices)), xml);
        EXPECT_EQ(schema_errors(VGPU_METADATA_SCHEMA, metadata_element(xml)), "");
    }
}

TEST(WithDevices, DisplaysAreForMdevsAndOnlyTheFirstHasAFramebuffer) {
    const InstanceRequest request = request_from(
        json_with(R"("graphics":"vnc","gpus":[{"profile":"p"},{"profile":"q","display":true},
                     {"profile":"q","display":true}])"));
    const DeviceKey third(uuid("d0c0b0a0-1111-4222-8333-444455556668"));
    const std::string base = built(request);
    EXPECT_THAT(base, HasSubstr(R"(<model type="none"/>)"));
    const std::string xml =
        value_of(with_devices(base, request, {first_vf, first_mdev, second_mdev}));
    expect_valid("displays", xml);
    EXPECT_EQ(xml.find("display='on' ramfb='on'"), xml.rfind("ramfb") - 13);
    EXPECT_NE(xml.find("display='on'>"), xml.npos);
    const auto refused = with_devices(base, request, {first_mdev, second_vf, third});
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code(), ErrorCode::unsupported);
    EXPECT_THAT(refused.error().text(), HasSubstr("vgpu1"));
    EXPECT_THAT(refused.error().text(), HasSubstr("10000:c8:1f.7"));
}

TEST(WithDevices, RefusesTooFewTooManyAndTheSameTwice) {
    const InstanceRequest request =
        request_from(json_with(R"("gpus":[{"profile":"p"},{"profile":"q"}])"));
    const std::string xml = built(request);
    EXPECT_FALSE(with_devices(xml, request, {first_vf}).has_value());
    EXPECT_FALSE(with_devices(xml, request, {first_vf, second_vf, first_mdev}).has_value());
    EXPECT_FALSE(with_devices(xml, request, {first_vf, first_vf}).has_value());
}

TEST(Assignment, ADisplayOnAVirtualFunctionIsRefused) {
    Assignment assignment = pci_assignment("vgpu0");
    assignment.display = true;
    const auto refused = with_assignment(domain_file("plain.xml"), assignment);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code(), ErrorCode::unsupported);
}

} // namespace
} // namespace vgpu::xml
