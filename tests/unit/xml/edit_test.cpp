#include "tests/unit/xml/domain_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vgpu::xml {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string with(const std::string& xml, const Assignment& assignment) {
    return value_of(with_assignment(xml, assignment));
}

std::string without(const std::string& xml, std::string_view name) {
    return value_of(without_assignment(xml, name));
}

DomainView read(const std::string& xml) {
    return value_of(read_domain(xml));
}

TEST(WithAssignment, AddsRequestAndHostdevToAPlainDomain) {
    Assignment assignment = pci_assignment("vgpu0");
    assignment.request.gpu = pci("0000:41:00.0");
    assignment.request.params = "frame_rate_limiter=0";
    const DomainView view = read(with(domain_file("plain.xml"), assignment));
    ASSERT_THAT(view.requests, testing::ElementsAre(assignment.request));
    EXPECT_EQ(view.request_domain, view.uuid);
    const Hostdev wanted{Hostdev::Type::pci, pci("0000:41:00.5"), {}, false, "ua-vgpu0", ""};
    EXPECT_THAT(view.hostdevs, testing::ElementsAre(wanted));
}

TEST(WithAssignment, AddsAnMdev) {
    Assignment assignment = mdev_assignment("vgpu0");
    assignment.display = true;
    const std::string xml = with(domain_file("plain.xml"), assignment);
    EXPECT_EQ(read(xml).hostdevs.at(0).uuid, assignment.device.mdev());
    EXPECT_THAT(xml, HasSubstr("type='mdev' managed='no' model='vfio-pci' display='on'>"));
    EXPECT_THAT(xml, Not(HasSubstr("name='vfio'")));
}

// bug report D90: the domain's own UUID was replaced by the mdev's
TEST(WithAssignment, LeavesTheUuidOfTheDomainAlone) {
    const std::string before = domain_file("plain.xml");
    const std::string after = with(before, mdev_assignment("vgpu0"));
    EXPECT_EQ(read(after).uuid, read(before).uuid);
    EXPECT_THAT(after, HasSubstr("<uuid>3b0d4a52-7c1e-4f7a-9a55-0d6e8f2b1c01</uuid>"));
}

// bug report D77: copied guest addresses collide
TEST(WithAssignment, GivesANewHostdevNoGuestAddress) {
    std::string xml = with(domain_file("plain.xml"), pci_assignment("a"));
    Assignment second = pci_assignment("b");
    second.device = DeviceKey(pci("0000:41:00.6"));
    xml = with(xml, second);
    EXPECT_EQ(read(xml).hostdevs.size(), 2U);
    EXPECT_THAT(xml, Not(HasSubstr("<address type=")));
}

// bug report D2
TEST(WithAssignment, WritesAWidePciDomain) {
    Assignment assignment = pci_assignment("a");
    for (const std::string address : {"0001:d6:00.4", "10000:e1:1f.7", "ffffffff:ff:1f.7"}) {
        assignment.device = DeviceKey(pci(address));
        const std::string xml = with(domain_file("plain.xml"), assignment);
        EXPECT_EQ(read(xml).hostdevs.at(0).address, pci(address));
    }
    assignment.device = DeviceKey(pci("0001:d6:00.4"));
    EXPECT_THAT(with(domain_file("plain.xml"), assignment),
                HasSubstr("<address domain='0x0001' bus='0xd6' slot='0x00' function='0x4'/>"));
}

TEST(WithAssignment, ChangesNothingTheSecondTime) {
    for (const std::string& file : good_domain_files()) {
        for (Assignment assignment : {pci_assignment("vgpu0"), mdev_assignment("desk")}) {
            assignment.request.params = "a=1";
            const std::string once = with(domain_file(file), assignment);
            EXPECT_EQ(with(once, assignment), once) << file;
        }
    }
}

TEST(WithAssignment, TouchesNothingWhenAllIsAsAsked) {
    const std::string live = domain_file("pci-live.xml");
    const DomainView view = read(live);
    EXPECT_EQ(with(live, {view.requests[0], DeviceKey(*view.hostdevs[0].address)}), live);
    const std::string mdev = domain_file("mdev.xml");
    const DomainView desk = read(mdev);
    EXPECT_EQ(with(mdev, {desk.requests[0], DeviceKey(*desk.hostdevs[0].uuid), true}), mdev);
    // Written otherwise, but with the same meaning.
    const std::string odd =
        replaced(live, "bus='0x41' slot='0x00' function='0x4'", "function=\"4\" bus = '65'");
    EXPECT_EQ(with(odd, {view.requests[0], DeviceKey(*view.hostdevs[0].address)}), odd);
}

TEST(WithAssignment, ChangesOnlyTheAddressOfAHostdevPointedElsewhere) {
    const std::string before = domain_file("pci-live.xml");
    Assignment assignment{read(before).requests[0], DeviceKey(pci("0000:41:01.7"))};
    EXPECT_EQ(with(before, assignment),
              replaced(before, "slot='0x00' function='0x4'", "slot='0x01' function='0x7'"));
}

TEST(WithAssignment, ChangesOnlyTheAttributesOfARequestThatDiffer) {
    const std::string before = domain_file("pci-live.xml");
    const DeviceKey device(pci("0000:41:00.4"));
    Assignment assignment{read(before).requests[0], device};
    assignment.request.profile = "NVIDIA L40S-8Q";
    EXPECT_EQ(with(before, assignment), replaced(before, "L40S-4Q", "L40S-8Q"));
    assignment = {read(before).requests[0], device};
    assignment.request.gpu.reset();
    EXPECT_EQ(with(before, assignment), replaced(before, " gpu=\"0000:41:00.0\"", ""));
    assignment = {read(before).requests[0], device};
    assignment.request.params.clear();
    EXPECT_EQ(with(before, assignment), replaced(before, " params=\"frame_rate_limiter=0\"", ""));
}

TEST(WithAssignment, MakesTheRequestOfACloneItsOwn) {
    const std::string before = domain_file("clone.xml");
    Assignment assignment{read(before).requests[0], DeviceKey(pci("0000:41:00.6"))};
    const std::string after = with(before, assignment);
    EXPECT_FALSE(read(after).is_copy());
    EXPECT_THAT(after, HasSubstr("domain=\"77777777-1111-4222-8333-444444444444\""));
}

TEST(WithAssignment, TakesManagedAndOtherDriversFromAReplacedHostdev) {
    std::string before = domain_file("clone.xml");
    before = replaced(before, "type='pci' managed='no'", "managed='yes' type='pci'");
    before = replaced(before, "<driver name='vfio'/>", "<driver name='kvm'/>");
    const std::string after =
        with(before, {read(before).requests[0], DeviceKey(pci("0000:41:00.4"))});
    EXPECT_FALSE(read(after).hostdevs.at(0).managed);
    EXPECT_THAT(after, HasSubstr("<driver name='vfio'/>"));
    EXPECT_THAT(after, HasSubstr("managed='no' type='pci'"));
}

TEST(WithAssignment, AddsTheDriverThatAHostdevLacks) {
    const std::string full = domain_file("clone.xml");
    const std::string before = replaced(full, "\n      <driver name='vfio'/>", "");
    DomainView view = read(full);
    // The metadata of the clone is made its own by any edit; compare from there on.
    const Assignment same{view.requests[0], DeviceKey(*view.hostdevs[0].address)};
    EXPECT_EQ(with(before, same), with(full, same));
}

TEST(WithAssignment, TurnsAVfIntoAnMdevInPlace) {
    const std::string before =
        replaced(domain_file("clone.xml"), "<source>", "<source writeFiltering='no'>");
    Assignment assignment{read(before).requests[0], mdev_assignment("x").device};
    EXPECT_THAT(with(before, assignment), HasSubstr(R"(
    <hostdev mode='subsystem' type='mdev' managed='no' model='vfio-pci'>
      <source>
        <address uuid='d0c0b0a0-1111-4222-8333-444455556666'/>
      </source>
      <alias name='ua-vgpu0'/>
      <rom bar='off'/>
      <address type='pci' domain='0x0000' bus='0x06' slot='0x00' function='0x0'/>
    </hostdev>
)"));
}

TEST(WithAssignment, TurnsAnMdevIntoAVfInPlace) {
    const std::string before = domain_file("mdev.xml");
    Assignment assignment{read(before).requests[0], DeviceKey(pci("0000:41:00.5"))};
    EXPECT_THAT(with(before, assignment), HasSubstr(R"(
    <hostdev mode='subsystem' type='pci' managed='no'>
      <driver name='vfio'/>
      <source>
        <address domain='0x0000' bus='0x41' slot='0x00' function='0x5'/>
      </source>
      <alias name='ua-desk'/>
      <rom bar='off'/>
      <address type='pci' domain='0x0000' bus='0x05' slot='0x00' function='0x0'/>
    </hostdev>
)"));
}

TEST(WithAssignment, KeepsTheDisplayOfAnMdevUnlessItIsSwitchedOn) {
    const std::string on = domain_file("mdev.xml");
    const std::string off = replaced(on, "display='on'", "display='off'");
    Assignment assignment{read(on).requests[0], DeviceKey(*read(on).hostdevs[0].uuid)};
    EXPECT_EQ(with(on, assignment), on);
    EXPECT_EQ(with(off, assignment), off);
    assignment.display = true;
    EXPECT_EQ(with(off, assignment), on);
    EXPECT_EQ(with(replaced(on, " display='on'", ""), assignment), on);
}

TEST(WithAssignment, EscapesWhatItWrites) {
    Assignment assignment = pci_assignment("a");
    assignment.request.profile = R"(<"A" & 'B'> é)";
    assignment.request.params = "x=\"1\"";
    const DomainView view = read(with(domain_file("plain.xml"), assignment));
    EXPECT_EQ(view.requests.at(0), assignment.request);
    Assignment changed = pci_assignment("a");
    changed.request.profile = "plain";
    EXPECT_EQ(read(with(with(domain_file("plain.xml"), changed), assignment)).requests.at(0),
              assignment.request);
}

TEST(WithAssignment, RefusesWhatCouldNotBeReadBack) {
    for (const std::string name : {"", "a b", "a.b", "a'/><x y='", "\xc3\xa9"}) {
        EXPECT_FALSE(with_assignment(domain_file("plain.xml"), pci_assignment(name))) << name;
    }
    for (const std::string profile :
         {"", " ", "a\nb", "\x01", "\xff", "\xef\xbf\xbf", "\xed\xa0\x80"}) {
        Assignment assignment = pci_assignment("a");
        assignment.request.profile = profile;
        const auto result = with_assignment(domain_file("plain.xml"), assignment);
        ASSERT_FALSE(result) << profile;
        EXPECT_EQ(result.error().code(), ErrorCode::invalid);
    }
}

TEST(WithAssignment, RefusesAnAliasThatAnotherDeviceHas) {
    const std::string usb = "<hostdev type='usb'><alias name='ua-a'/></hostdev>";
    const std::string disk = "<disk><alias name='ua-a'/></disk>";
    for (const std::string& device : {usb, disk}) {
        const auto result = with_assignment(domain_with("", device), pci_assignment("a"));
        ASSERT_FALSE(result);
        EXPECT_THAT(result.error().text(), HasSubstr("ua-a"));
    }
}

TEST(WithAssignment, RefusesADeviceThatAForeignHostdevHolds) {
    const std::string foreign =
        "<hostdev type='pci'><source><address bus='0x41' function='5'/></source></hostdev>";
    const auto result = with_assignment(domain_with("", foreign), pci_assignment("a"));
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code(), ErrorCode::conflict);
    EXPECT_THAT(result.error().text(), HasSubstr("0000:41:00.5"));
}

TEST(WithAssignment, LetsTwoRequestsSwapTheirDevices) {
    Assignment a = pci_assignment("a");
    Assignment b = pci_assignment("b");
    b.device = DeviceKey(pci("0000:41:00.6"));
    const std::string xml = with(with(domain_file("plain.xml"), a), b);
    std::swap(a.device, b.device);
    const DomainView view = read(with(with(xml, a), b));
    EXPECT_EQ(view.hostdevs.at(0).address, pci("0000:41:00.6"));
    EXPECT_EQ(view.hostdevs.at(1).address, pci("0000:41:00.5"));
}

TEST(WithAssignment, RefusesXmlThatTheReaderRefuses) {
    EXPECT_FALSE(with_assignment("<domain><name>a</name></domain>", pci_assignment("a")));
    EXPECT_FALSE(without_assignment("<domain>", "a"));
}

TEST(WithoutAssignment, RemovesTheLastRequestWithItsMetadata) {
    const std::string after = without(domain_file("pci-live.xml"), "vgpu0");
    EXPECT_FALSE(read(after).has_request);
    EXPECT_EQ(read(after).hostdevs.size(), 1U);
    EXPECT_THAT(after, Not(HasSubstr("metadata")));
}

TEST(WithoutAssignment, LeavesOtherRequestsAndForeignMetadata) {
    const std::string status = domain_file("status.xml");
    const DomainView view = read(without(status, "a"));
    ASSERT_EQ(view.requests.size(), 1U);
    EXPECT_EQ(view.requests[0].name, "b");
    EXPECT_TRUE(view.hostdevs.empty());
    EXPECT_EQ(without(status, "b"),
              replaced(status, "\n        <vgpu:device name=\"b\" profile=\"1151\"/>", ""));
    const std::string foreign = domain_with(
        "<x xmlns='urn:x'/>" + request_metadata("<vgpu:device name='a' profile='p'/>"), "");
    EXPECT_EQ(without(foreign, "a"), domain_with("<x xmlns='urn:x'/>", ""));
}

TEST(WithoutAssignment, KeepsAMetadataElementThatHoldsAComment) {
    const std::string xml =
        domain_with("<!-- c -->" + request_metadata("<vgpu:device name='a' profile='p'/>"), "");
    EXPECT_EQ(without(xml, "a"), domain_with("<!-- c -->", ""));
}

TEST(WithoutAssignment, DoesNotBringASecondMetadataElementToLife) {
    const std::string two = domain_file("two-metadata.xml");
    EXPECT_FALSE(read(without(two, "kept")).has_request);
    const std::string three = replaced(two, "<metadata>", "<metadata>\n    <x xmlns='urn:x'/>");
    const std::string after = without(three, "kept");
    EXPECT_FALSE(read(after).has_request);
    EXPECT_THAT(after, HasSubstr("<x xmlns='urn:x'/>\n  </metadata>"));
}

TEST(WithoutAssignment, SaysWhenThereIsNoSuchRequest) {
    for (const std::string name : {"vgpu1", "", "hostdev0"}) {
        const auto result = without_assignment(domain_file("pci-live.xml"), name);
        ASSERT_FALSE(result);
        EXPECT_EQ(result.error().code(), ErrorCode::not_found);
    }
}

TEST(WithoutAssignment, LeavesAUsbDeviceOfTheSameAlias) {
    const std::string usb = "<hostdev type='usb'><alias name='ua-a'/></hostdev>";
    const std::string xml =
        domain_with(request_metadata("<vgpu:device name='a' profile='p'/>"), usb);
    EXPECT_THAT(without(xml, "a"), HasSubstr(usb));
}

} // namespace
} // namespace vgpu::xml
