#include "tests/unit/xml/domain_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>

namespace vgpu::xml {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

DomainView read(const std::string& xml) {
    return value_of(read_domain(xml));
}

std::string error_of(const std::string& xml) {
    const auto view = read_domain(xml);
    if (view) {
        return "no error";
    }
    EXPECT_EQ(view.error().code(), ErrorCode::invalid);
    return view.error().text();
}

std::string pci_hostdev(std::string_view address) {
    return "<hostdev mode='subsystem' type='pci'><source><address " + std::string(address) +
           "/></source></hostdev>";
}

TEST(ReadDomain, FindsRequestAndHostdevsOfALiveDomain) {
    const DomainView view = read(domain_file("pci-live.xml"));
    EXPECT_EQ(view.uuid, uuid("5f6c1f0a-52c1-4b8e-9d0b-6f3c6f0a7e11"));
    EXPECT_EQ(view.name, "cad1");
    EXPECT_TRUE(view.has_request);
    EXPECT_FALSE(view.is_copy());
    const VgpuRequest wanted{"vgpu0", "NVIDIA L40S-4Q", pci("0000:41:00.0"),
                             "frame_rate_limiter=0"};
    ASSERT_THAT(view.requests, testing::ElementsAre(wanted));
    const Hostdev ours{Hostdev::Type::pci, pci("0000:41:00.4"), {}, false, "ua-vgpu0", ""};
    const Hostdev other{Hostdev::Type::pci, pci("0000:17:02.1"), {}, true, "hostdev0", ""};
    EXPECT_THAT(view.hostdevs, testing::ElementsAre(ours, other));
    ASSERT_NE(view.hostdev_of(wanted), nullptr);
    EXPECT_EQ(*view.hostdev_of(wanted), ours);
    EXPECT_THAT(view.notes, IsEmpty());
}

TEST(ReadDomain, ReadsUuidsOfMdevAndDomainInAnyCase) {
    const DomainView view = read(domain_file("mdev.xml"));
    EXPECT_EQ(view.uuid.to_string(), "9e0a1b2c-3d4e-4f50-8a6b-7c8d9e0f1a2b");
    EXPECT_FALSE(view.is_copy());
    ASSERT_EQ(view.hostdevs.size(), 1U);
    EXPECT_EQ(view.hostdevs[0].type, Hostdev::Type::mdev);
    EXPECT_EQ(view.hostdevs[0].uuid, uuid("c1a2b3d4-e5f6-4789-8abc-def012345678"));
    EXPECT_EQ(view.hostdev_of(view.requests.at(0)), &view.hostdevs[0]);
}

TEST(ReadDomain, ReadsTheDomainInsideAStatusFile) {
    const DomainView view = read(domain_file("status.xml"));
    EXPECT_EQ(view.name, "vm1");
    ASSERT_EQ(view.requests.size(), 2U);
    ASSERT_NE(view.hostdev_of(view.requests[0]), nullptr);
    EXPECT_EQ(view.hostdev_of(view.requests[0])->address, pci("0000:82:01.0"));
    EXPECT_EQ(view.hostdev_of(view.requests[1]), nullptr);
}

TEST(ReadDomain, SeesThatACloneCarriesTheRequestOfAnotherDomain) {
    const DomainView view = read(domain_file("clone.xml"));
    EXPECT_TRUE(view.is_copy());
    EXPECT_EQ(view.request_domain, uuid("5f6c1f0a-52c1-4b8e-9d0b-6f3c6f0a7e11"));
    EXPECT_EQ(view.uuid, uuid("77777777-1111-4222-8333-444444444444"));
}

// bug report D75
TEST(ReadDomain, CountsHostdevsOfOtherKindsAndGoesOn) {
    const DomainView view = read(domain_file("mixed-hostdevs.xml"));
    ASSERT_EQ(view.hostdevs.size(), 8U);
    EXPECT_EQ(view.hostdevs[0].type, Hostdev::Type::other);
    EXPECT_EQ(view.hostdevs[0].other_type, "usb");
    EXPECT_TRUE(view.hostdevs[0].managed);
    EXPECT_EQ(view.hostdevs[1].other_type, "scsi");
    EXPECT_EQ(view.hostdevs[2].other_type, "scsi_host");
    EXPECT_EQ(view.hostdevs[3].uuid, uuid("7d3f8a10-64c2-4be1-b0a7-2f9d3e5c1b60"));
    EXPECT_TRUE(view.hostdevs[4].managed);
    EXPECT_FALSE(view.hostdevs[5].managed);
    EXPECT_EQ(view.hostdevs[7].other_type, "misc");
    EXPECT_FALSE(view.has_request);
}

TEST(ReadDomain, ToleratesAHostdevOfAnUnheardOfKind) {
    const DomainView view = read(domain_with("", "<hostdev mode='subsystem' type='quantum'><source "
                                                 "qubit='1'/></hostdev><hostdev/>"));
    ASSERT_EQ(view.hostdevs.size(), 2U);
    EXPECT_EQ(view.hostdevs[0].other_type, "quantum");
    EXPECT_EQ(view.hostdevs[1].other_type, "");
}

// bug reports D2, D3: a domain number other than 0 was lost or taken for the bus
TEST(ReadDomain, KeepsThePciDomainHoweverWide) {
    const DomainView view = read(domain_file("mixed-hostdevs.xml"));
    EXPECT_EQ(view.hostdevs[4].address->to_string(), "0001:c8:00.2");
    EXPECT_EQ(view.hostdevs[6].address->to_string(), "10000:e1:1f.7");
    const DomainView widest = read(domain_with("", pci_hostdev("domain='0xffffffff' bus='1'")));
    EXPECT_EQ(widest.hostdevs[0].address->domain, 0xffffffffU);
}

TEST(ReadDomain, ReadsAddressFieldsInDecimalOctalAndHexadecimal) {
    const DomainView view = read(domain_file("mixed-hostdevs.xml"));
    EXPECT_EQ(view.hostdevs[5].address->to_string(), "0000:41:08.3");
}

/// What libvirt's virStrToLong_uip(text, NULL, 0) makes of a number.
std::optional<std::uint32_t> by_strtoul(const std::string& text) {
    errno = 0;
    char* end = nullptr;
    const unsigned long value = std::strtoul(text.c_str(), &end, 0);
    if (errno != 0 || end == text.c_str() || *end != '\0' || value > 0xffffffffUL ||
        text.find('-') != text.npos) {
        return std::nullopt;
    }
    return static_cast<std::uint32_t>(value);
}

TEST(ReadDomain, AgreesWithTheCLibraryOnEveryNumber) {
    for (const std::string text : {"0",
                                   "00",
                                   "0000",
                                   "7",
                                   "010",
                                   "08",
                                   "0x10",
                                   "0X1f",
                                   "0x",
                                   "x1",
                                   "1x",
                                   "",
                                   " ",
                                   " 1",
                                   "+1",
                                   "+ 1",
                                   "-1",
                                   "- 1",
                                   "+-1",
                                   "1 ",
                                   "0x1 ",
                                   "0x0001",
                                   "0xfffffffff",
                                   "4294967295",
                                   "4294967296",
                                   "0xffffffff",
                                   "037777777777",
                                   "040000000000",
                                   "99999999999999999999999",
                                   "1.5",
                                   "1e3",
                                   "0x1g",
                                   "0b1",
                                   "++1",
                                   "0x+1",
                                   "a",
                                   "0xA",
                                   "  0x1f",
                                   "+0x1f",
                                   "0 1"}) {
        const auto view =
            read_domain(domain_with("", pci_hostdev("bus='1' domain='" + text + "'")));
        const auto expected = by_strtoul(text);
        ASSERT_EQ(view.has_value(), expected.has_value()) << "'" << text << "'";
        if (expected) {
            EXPECT_EQ(view->hostdevs.at(0).address->domain, *expected) << "'" << text << "'";
        }
    }
}

// bug report D2: slot='0xd6' came of a bus taken for a slot
TEST(ReadDomain, RefusesAnAddressThatIsNone) {
    EXPECT_THAT(error_of(domain_with("", pci_hostdev("domain='0' bus='0' slot='0xd6'"))),
                testing::AllOf(HasSubstr("slot='0xd6'"), HasSubstr("line 6")));
    EXPECT_THAT(error_of(domain_with("", pci_hostdev("bus='256'"))), HasSubstr("bus='256'"));
    EXPECT_THAT(error_of(domain_with("", pci_hostdev("function='8'"))), HasSubstr("function='8'"));
    EXPECT_THAT(error_of(domain_with("", "<hostdev type='pci'><source/></hostdev>")),
                HasSubstr("<address>"));
    EXPECT_THAT(error_of(domain_with("", "<hostdev type='pci'/>")), HasSubstr("<address>"));
}

TEST(ReadDomain, RefusesAnMdevWithoutAUuid) {
    EXPECT_THAT(error_of(domain_with(
                    "", "<hostdev type='mdev'><source><address uuid='42'/></source></hostdev>")),
                HasSubstr("uuid="));
    EXPECT_THAT(
        error_of(domain_with("", "<hostdev type='mdev'><source><address/></source></hostdev>")),
        HasSubstr("uuid="));
}

TEST(ReadDomain, SaysClearlyThatTheUuidIsMissing) {
    EXPECT_THAT(error_of("<domain><name>a</name></domain>"),
                testing::AllOf(HasSubstr("no <uuid>"), HasSubstr("virsh dumpxml")));
    EXPECT_THAT(error_of("<domain><name>a</name><uuid>zz</uuid></domain>"), HasSubstr("no UUID"));
}

TEST(ReadDomain, ReadsTheUuidAsLooselyAsLibvirt) {
    const std::string xml = "<domain><name>a</name><uuid>\n 1111 2222-33334444-8555666677778888\n"
                            "</uuid></domain>";
    EXPECT_EQ(read(xml).uuid, uuid("11112222-3333-4444-8555-666677778888"));
}

TEST(ReadDomain, RefusesANameThatCannotNameADomain) {
    const std::string xml = domain_with("", "");
    EXPECT_THAT(error_of(replaced(xml, "<name>vm1</name>", "")), HasSubstr("no <name>"));
    EXPECT_THAT(error_of(replaced(xml, "vm1", "")), HasSubstr("no <name>"));
    EXPECT_THAT(error_of(replaced(xml, "vm1", "../vm1")), HasSubstr("'/'"));
    EXPECT_THAT(error_of(replaced(xml, "vm1", "a\nb")), HasSubstr("line break"));
}

TEST(ReadDomain, ResolvesReferencesAndCdata) {
    const DomainView view = read(domain_file("handmade.xml"));
    EXPECT_EQ(view.name, "r&d \xe2\x80\x94 <test>");
    EXPECT_EQ(read(domain_with("", "<hostdev type='&#112;ci'><source><address bus='&#x31;'/>"
                                   "</source></hostdev>"))
                  .hostdevs.at(0)
                  .address,
              pci("0000:01:00.0"));
}

TEST(ReadDomain, IgnoresHostdevsInCommentsAndForeignNamespaces) {
    EXPECT_THAT(read(domain_file("handmade.xml")).hostdevs, IsEmpty());
    EXPECT_THAT(read(domain_with("<hostdev type='pci'/>",
                                 "<x:hostdev xmlns:x='urn:x' type='pci'/><y><hostdev "
                                 "type='pci'/></y>"))
                    .hostdevs,
                IsEmpty());
}

TEST(ReadDomain, ReadsHostdevsOfEveryDevicesElement) {
    const std::string hostdev = pci_hostdev("bus='1'");
    const std::string xml =
        domain_with("", hostdev + "</devices><devices>" + pci_hostdev("bus='2'"));
    EXPECT_EQ(read(xml).hostdevs.size(), 2U);
}

TEST(ReadDomain, RefusesWhatIsNoDomain) {
    EXPECT_THAT(error_of("<network><name>a</name></network>"), HasSubstr("<network>"));
    EXPECT_THAT(error_of("<domstatus/>"), HasSubstr("<domstatus>"));
    EXPECT_THAT(error_of("<domain xmlns='urn:x'><name>a</name></domain>"), HasSubstr("no domain"));
    EXPECT_THAT(error_of("hello"), HasSubstr("no XML"));
    EXPECT_THAT(error_of(" \n"), HasSubstr("empty"));
    EXPECT_THAT(error_of(""), HasSubstr("empty"));
}

} // namespace
} // namespace vgpu::xml
