#include "agent/core/ids.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace vgpu {
namespace {

using testing::HasSubstr;

TEST(PciAddress, IsWrittenAsSysfsNamesIt) {
    const auto address = PciAddress::parse("0000:41:00.4");
    ASSERT_TRUE(address);
    EXPECT_EQ(*address, (PciAddress{0, 0x41, 0, 4}));
    EXPECT_EQ(address->to_string(), "0000:41:00.4");
}

// bug reports D1, D2, D3
TEST(PciAddress, KeepsItsDomain) {
    const auto address = PciAddress::parse("0001:d6:1f.7");
    ASSERT_TRUE(address);
    EXPECT_EQ(*address, (PciAddress{1, 0xd6, 0x1f, 7}));
    EXPECT_EQ(address->to_string(), "0001:d6:1f.7");
    EXPECT_NE(*address, PciAddress::parse("0000:d6:1f.7").value());
}

TEST(PciAddress, KeepsAWideDomain) {
    for (const char* text : {"10000:e1:00.0", "ffffffff:ff:1f.7"}) {
        const auto address = PciAddress::parse(text);
        ASSERT_TRUE(address) << text;
        EXPECT_EQ(address->to_string(), text);
    }
}

// bug report D4
TEST(PciAddress, OfNvidiaSmiEqualsTheOneOfSysfs) {
    EXPECT_EQ(PciAddress::parse("00000001:C8:00.0").value(),
              PciAddress::parse("0001:c8:00.0").value());
    EXPECT_EQ(PciAddress::parse("00000000:42:00.0").value().to_string(), "0000:42:00.0");
    EXPECT_EQ(PciAddress::parse("0:1:2.3").value().to_string(), "0000:01:02.3");
}

TEST(PciAddress, SortsByDomainFirst) {
    EXPECT_LT(PciAddress::parse("0000:ff:1f.7").value(), PciAddress::parse("0001:00:00.0").value());
    EXPECT_LT(PciAddress::parse("0000:41:00.4").value(), PciAddress::parse("0000:41:01.0").value());
}

class NotAnAddress : public testing::TestWithParam<const char*> {};

TEST_P(NotAnAddress, IsRefusedAndNamed) {
    const auto address = PciAddress::parse(GetParam());
    ASSERT_FALSE(address);
    EXPECT_EQ(address.error().code(), ErrorCode::invalid);
    EXPECT_THAT(address.error().text(), HasSubstr(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Spellings, NotAnAddress,
                         testing::Values("", ":", "::.", "41:00.4", "0000:41:00", "0000:41:00.",
                                         "0000:41:00.8", "0000:41:20.0", "0000:100:00.0",
                                         "0000:41:000.0", "100000000:41:00.0", ":41:00.0",
                                         "0000::00.0", "0000:41:.0", "0000:41:00.4 ",
                                         " 0000:41:00.4", "0000:41:00.4x", "0000:41:00.44",
                                         "+000:41:00.4", "-000:41:00.4", "0000:-1:00.4",
                                         "0x00:41:00.4", "0000:41:00:4", "0000.41.00.4",
                                         "0000:41:00.4.4", "0000:4g:00.4", "0000:41 :00.4",
                                         "pci-0000:41:00.4", "0000:41:00.-1"));

TEST(PciAddress, RefusesAnEmbeddedNul) {
    EXPECT_FALSE(PciAddress::parse(std::string_view("0000:41:00.4\0", 13)));
}

TEST(PciAddress, RefusesAHugeTextWithAShortMessage) {
    const auto address = PciAddress::parse(std::string(1 << 20, '0'));
    ASSERT_FALSE(address);
    EXPECT_LT(address.error().text().size(), 300U);
}

constexpr const char* canonical = "2f6c1f0a-52c1-4b8e-9d0b-6f3c6f0a7e11";

TEST(Uuid, IsWrittenInLowerCaseWithDashesHoweverItWasSpelt) {
    for (const char* text :
         {canonical, "2F6C1F0A-52C1-4B8E-9D0B-6F3C6F0A7E11", "2f6c1f0a52c14b8e9d0b6f3c6f0a7e11"}) {
        const auto uuid = Uuid::parse(text);
        ASSERT_TRUE(uuid) << text;
        EXPECT_EQ(uuid->to_string(), canonical);
    }
}

TEST(Uuid, RefusesEverythingElse) {
    for (const char* text :
         {"", "2f6c1f0a", "2f6c1f0a-52c1-4b8e-9d0b-6f3c6f0a7e1",
          "2f6c1f0a-52c1-4b8e-9d0b-6f3c6f0a7e111", "2f6c1f0a52c1-4b8e-9d0b-6f3c6f0a7e11-",
          "2f6c1f0-a52c1-4b8e-9d0b-6f3c6f0a7e11", "2f6c1f0a-52c1-4b8e-9d0b-6f3c6f0a7eg1",
          "{2f6c1f0a-52c1-4b8e-9d0b-6f3c6f0a7e11}", " 2f6c1f0a52c14b8e9d0b6f3c6f0a7e1",
          "-f6c1f0a52c14b8e9d0b6f3c6f0a7e11", "2f6c1f0a-52c1-4b8e-9d0b-6f3c6f0a-e11",
          "0x6c1f0a52c14b8e9d0b6f3c6f0a7e11"}) {
        const auto uuid = Uuid::parse(text);
        ASSERT_FALSE(uuid) << text;
        EXPECT_EQ(uuid.error().code(), ErrorCode::invalid);
        EXPECT_THAT(uuid.error().text(), HasSubstr(text));
    }
}

TEST(Uuid, RandomOnesAreDifferentAndOfVersionFour) {
    std::set<std::string> seen;
    for (int i = 0; i < 1000; ++i) {
        const std::string text = Uuid::random().to_string();
        EXPECT_EQ(text[14], '4') << text;
        EXPECT_THAT(std::string("89ab"), HasSubstr(std::string(1, text[19]))) << text;
        EXPECT_TRUE(seen.insert(text).second) << text;
        EXPECT_EQ(Uuid::parse(text).value().to_string(), text);
    }
}

TEST(DeviceKey, OfAPciFunctionIsItsCanonicalAddress) {
    const DeviceKey key(PciAddress::parse("00000001:C8:00.2").value());
    EXPECT_FALSE(key.is_mdev());
    EXPECT_EQ(key.to_string(), "pci-0001:c8:00.2");
    EXPECT_EQ(key.device(), "0001:c8:00.2");
    EXPECT_EQ(DeviceKey::parse(key.to_string()).value(), key);
}

TEST(DeviceKey, OfAnMdevIsItsUuid) {
    const DeviceKey key(Uuid::parse(canonical).value());
    EXPECT_TRUE(key.is_mdev());
    EXPECT_EQ(key.to_string(), std::string("mdev-") + canonical);
    EXPECT_EQ(key.device(), canonical);
    EXPECT_EQ(DeviceKey::parse(key.to_string()).value(), key);
    EXPECT_EQ(key.mdev(), Uuid::parse(canonical).value());
}

TEST(DeviceKey, HasOneFileNameForOneDevice) {
    for (const char* text :
         {"pci-00000001:C8:00.2", "pci-0001:C8:00.2", "pci-1:c8:0.2", "PCI-0001:c8:00.2",
          "mdev-2F6C1F0A-52C1-4B8E-9D0B-6F3C6F0A7E11", "mdev-2f6c1f0a52c14b8e9d0b6f3c6f0a7e11",
          "0001:c8:00.2", canonical, "pci-", "mdev-", "", "pci-../../etc", "mdev-0001:c8:00.2",
          "pci-0001:c8:00.2.json", "pci-0001:c8:00.2\n"}) {
        EXPECT_FALSE(DeviceKey::parse(text)) << text;
    }
}

TEST(DeviceKey, OfPeopleMayBeBareAndInAnyCase) {
    const DeviceKey pci(PciAddress::parse("0001:c8:00.2").value());
    for (const char* text : {"0001:c8:00.2", "00000001:C8:00.2", "pci-0001:c8:00.2"}) {
        EXPECT_EQ(DeviceKey::parse_device(text).value(), pci) << text;
    }
    const DeviceKey mdev(Uuid::parse(canonical).value());
    for (const std::string& text : {std::string(canonical), "mdev-" + std::string(canonical)}) {
        EXPECT_EQ(DeviceKey::parse_device(text).value(), mdev) << text;
    }
}

TEST(DeviceKey, OfPeopleIsNamedWhenItIsNone) {
    const auto key = DeviceKey::parse_device("vgpu0");
    ASSERT_FALSE(key);
    EXPECT_EQ(key.error().code(), ErrorCode::invalid);
    EXPECT_THAT(key.error().text(), HasSubstr("\"vgpu0\""));
}

TEST(DeviceKey, OfOneKindNeverEqualsTheOther) {
    EXPECT_NE(DeviceKey(PciAddress{}), DeviceKey(Uuid{}));
}

} // namespace
} // namespace vgpu
