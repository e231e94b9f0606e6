#include "tests/unit/xml/domain_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vgpu::xml {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

DomainView read(std::string_view devices, std::string_view hostdevs = "") {
    return value_of(read_domain(domain_with(request_metadata(devices), hostdevs)));
}

std::string error_of(const std::string& xml) {
    const auto view = read_domain(xml);
    if (view) {
        return "no error";
    }
    EXPECT_EQ(view.error().code(), ErrorCode::invalid);
    return view.error().text();
}

std::string request_error(std::string_view devices) {
    return error_of(domain_with(request_metadata(devices), ""));
}

std::string named(const std::string& name) {
    return "<vgpu:device name='" + name + "' profile='p'/>";
}

TEST(ReadMetadata, KnowsItsNamespaceByUriUnderAnyPrefix) {
    const std::string plain = "<devices xmlns='urn:virt-vgpu:domain:1'><device name='a' "
                              "profile='NVIDIA L40S-4Q'/></devices>";
    const DomainView view = value_of(read_domain(domain_with(plain, "")));
    EXPECT_TRUE(view.has_request);
    EXPECT_EQ(view.request_domain, std::nullopt);
    EXPECT_FALSE(view.is_copy());
    ASSERT_EQ(view.requests.size(), 1U);
    EXPECT_EQ(view.requests[0].name, "a");
}

TEST(ReadMetadata, KnowsItsNamespaceWrittenWithReferences) {
    const std::string xml =
        domain_with("<v:devices xmlns:v='urn:virt&#45;vgpu:domain&#x3a;1'/>", "");
    EXPECT_TRUE(value_of(read_domain(xml)).has_request);
    EXPECT_TRUE(may_concern_us(xml));
}

TEST(ReadMetadata, TakesThePrefixAloneForNothing) {
    const auto foreign = value_of(read_domain(domain_with(
        "<vgpu:devices xmlns:vgpu='urn:else'><vgpu:device name='a' profile='p'/></vgpu:devices>",
        "")));
    EXPECT_FALSE(foreign.has_request);
    const auto undeclared = value_of(
        read_domain(domain_with("<vgpu:devices><vgpu:device name='a'/></vgpu:devices>", "")));
    EXPECT_FALSE(undeclared.has_request);
}

// bug report 9.21 of the libvirt facts: libvirt drops the second element of a namespace without a
// word
TEST(ReadMetadata, ReadsTheFirstElementOnlyAndSaysSo) {
    const DomainView view = value_of(read_domain(domain_file("two-metadata.xml")));
    ASSERT_EQ(view.requests.size(), 1U);
    EXPECT_EQ(view.requests[0].name, "kept");
    EXPECT_THAT(view.notes, testing::ElementsAre(HasSubstr("line 8")));
}

TEST(ReadMetadata, ReadsTheFirstMetadataElementOnlyAndSaysSo) {
    const std::string second = domain_with(
        request_metadata(named("a")) + "</metadata><metadata>" + request_metadata(named("b")), "");
    const DomainView view = value_of(read_domain(second));
    ASSERT_EQ(view.requests.size(), 1U);
    EXPECT_EQ(view.requests[0].name, "a");
    EXPECT_THAT(view.notes, testing::ElementsAre(HasSubstr("second <metadata>")));
}

TEST(ReadMetadata, IgnoresAnElementThatLibvirtWouldNotKeepInPlace) {
    EXPECT_FALSE(value_of(read_domain(domain_with(
                              "<app xmlns='urn:a'>" + request_metadata(named("a")) + "</app>", "")))
                     .has_request);
}

TEST(ReadMetadata, RefusesAnotherElementInItsPlace) {
    EXPECT_THAT(error_of(domain_with("<v:device xmlns:v='urn:virt-vgpu:domain:1' name='a'/>", "")),
                HasSubstr("<device>"));
}

TEST(ReadMetadata, ToleratesUnknownElementsAndAttributes) {
    const DomainView view =
        read("<vgpu:future/><device name='no namespace'/><!-- c -->"
             "<vgpu:device name='a' profile='p' colour='blue'><x/></vgpu:device>");
    ASSERT_EQ(view.requests.size(), 1U);
    EXPECT_EQ(view.requests[0], (VgpuRequest{"a", "p", std::nullopt, ""}));
}

TEST(ReadMetadata, IsARequestEvenWhenItNamesNoDevice) {
    const DomainView view = read("");
    EXPECT_TRUE(view.has_request);
    EXPECT_THAT(view.requests, IsEmpty());
}

TEST(ReadMetadata, RefusesARequestWithoutNameOrProfile) {
    EXPECT_THAT(request_error("<vgpu:device profile='p'/>"), HasSubstr("no name"));
    EXPECT_THAT(request_error("<vgpu:device name='' profile='p'/>"), HasSubstr("no name"));
    EXPECT_THAT(request_error("<vgpu:device name='a'/>"), HasSubstr("a has no profile"));
    EXPECT_THAT(request_error("<vgpu:device name='a' profile='  '/>"), HasSubstr("no profile"));
}

TEST(ReadMetadata, RefusesNamesThatAreUnfitForAnAlias) {
    for (const std::string name :
         {"a b", "a/b", "a.b", "../x", "a:b", "\xc3\xa9", "a&#10;b", "ua-&lt;", "a@b", "a'b",
          "12345678901234567890123456789012345678901234567890123456789012345"}) {
        EXPECT_THAT(request_error("<vgpu:device name=\"" + name + "\" profile='p'/>"),
                    HasSubstr("alias"))
            << name;
    }
    for (const std::string name :
         {"a", "0", "-", "_x-9", "Az",
          "1234567890123456789012345678901234567890123456789012345678901234"}) {
        EXPECT_EQ(read(named(name)).requests.at(0).name, name);
    }
}

TEST(ReadMetadata, RefusesANameUsedTwice) {
    EXPECT_THAT(request_error(named("a") + named("b") + named("a")), HasSubstr("two"));
    EXPECT_EQ(read(named("a") + named("A")).requests.size(), 2U);
}

TEST(ReadMetadata, RefusesControlCharactersInWhatGoesToTheDriver) {
    EXPECT_THAT(request_error("<vgpu:device name='a' profile='p&#10;q'/>"), HasSubstr("control"));
    EXPECT_THAT(request_error("<vgpu:device name='a' profile='p' params='x=1&#10;y=2'/>"),
                HasSubstr("control"));
}

TEST(ReadMetadata, RefusesAGpuThatIsNoWholeAddress) {
    for (const std::string gpu : {"", "41:00.0", "0000:41:00", "gpu0", "0000:41:20.0"}) {
        EXPECT_THAT(request_error("<vgpu:device name='a' profile='p' gpu='" + gpu + "'/>"),
                    HasSubstr("gpu= of vGPU a"))
            << gpu;
    }
    EXPECT_EQ(read("<vgpu:device name='a' profile='p' gpu='00000001:C8:00.0'/>").requests[0].gpu,
              pci("0001:c8:00.0"));
}

TEST(ReadMetadata, RefusesAnOwnerThatIsNoUuid) {
    EXPECT_THAT(
        error_of(domain_with("<v:devices xmlns:v='urn:virt-vgpu:domain:1' domain='vm1'/>", "")),
        HasSubstr("domain="));
}

TEST(ReadMetadata, RefusesMoreRequestsThanAGuestCanHave) {
    std::string devices;
    for (std::size_t i = 0; i < max_requests; ++i) {
        devices += named("n" + std::to_string(i));
    }
    EXPECT_EQ(read(devices).requests.size(), max_requests);
    EXPECT_THAT(request_error(devices + named("more")), HasSubstr("more than 64"));
}

constexpr std::string_view usb = "<hostdev type='usb'><alias name='ua-a'/></hostdev>";
constexpr std::string_view vf =
    "<hostdev type='pci'><source><address bus='1'/></source><alias name='ua-a'/></hostdev>";

TEST(ReadMetadata, TakesNoUsbDeviceForTheDeviceOfARequest) {
    const DomainView view = read(named("a"), usb);
    EXPECT_EQ(view.hostdev_of(view.requests[0]), nullptr);
}

TEST(ReadMetadata, RefusesTwoHostdevsForOneRequest) {
    const std::string both = std::string(vf) + std::string(vf);
    EXPECT_THAT(error_of(domain_with(request_metadata(named("a")), both)), HasSubstr("ua-a"));
    EXPECT_EQ(read(named("b"), both).hostdevs.size(), 2U);
}

} // namespace
} // namespace vgpu::xml
