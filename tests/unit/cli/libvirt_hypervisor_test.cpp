#include "agent/hypervisor/libvirt_hypervisor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vgpu::cli {

namespace {

using testing::HasSubstr;

constexpr const char* plain_domain =
    "<domain type='test'><name>vm1</name><uuid>f0f0f0f0-0000-4000-8000-000000000001</uuid>"
    "<memory>1048576</memory><os><type>hvm</type></os></domain>";

/// libvirt's own driver for tests, which lives in this process.
class LibvirtTestDriver : public testing::Test {
protected:
    std::unique_ptr<Hypervisor> hypervisor =
        connect_libvirt("test:///default", Deadline::in(std::chrono::seconds(60))).value();
};

} // namespace

TEST_F(LibvirtTestDriver, TellsItsDriverAndVersion) {
    const auto facts = hypervisor->facts();
    ASSERT_TRUE(facts) << facts.error().text();
    EXPECT_EQ(facts->driver, "TEST");
    EXPECT_GE(facts->libvirt, 6000000U);
}

TEST_F(LibvirtTestDriver, ListsDomainsWithTheirXml) {
    ASSERT_TRUE(hypervisor->define(plain_domain));
    const auto domains = hypervisor->domains();
    ASSERT_TRUE(domains) << domains.error().text();
    bool found = false;
    for (const DomainInfo& domain : *domains) {
        if (domain.name == "vm1") {
            found = true;
            EXPECT_FALSE(domain.active);
            EXPECT_TRUE(domain.persistent);
            EXPECT_THAT(domain.xml, HasSubstr("<name>vm1</name>"));
            EXPECT_EQ(domain.live_xml, "");
            EXPECT_EQ(domain.uuid.to_string(), "f0f0f0f0-0000-4000-8000-000000000001");
        }
        if (domain.name == "test") { // the driver's own, which runs
            EXPECT_TRUE(domain.active);
            EXPECT_NE(domain.live_xml, "");
        }
    }
    EXPECT_TRUE(found);
}

TEST_F(LibvirtTestDriver, FindsADomainByNameAndByUuid) {
    ASSERT_TRUE(hypervisor->define(plain_domain));
    EXPECT_EQ(hypervisor->domain("vm1").value().name, "vm1");
    EXPECT_EQ(hypervisor->domain("f0f0f0f0-0000-4000-8000-000000000001").value().name, "vm1");
    const auto nobody = hypervisor->domain("nobody");
    ASSERT_FALSE(nobody);
    EXPECT_EQ(nobody.error().code(), ErrorCode::not_found);
    EXPECT_THAT(nobody.error().text(), HasSubstr("nobody"));
}

TEST_F(LibvirtTestDriver, DefinesOnlyWhatTheSchemaKnows) {
    const auto defined = hypervisor->define(
        "<domain type='test'><name>vm2</name><memory>1048576</memory><os><type>hvm</type></os>"
        "<nonsense/></domain>");
    ASSERT_FALSE(defined);
    EXPECT_EQ(defined.error().code(), ErrorCode::invalid);
    EXPECT_EQ(defined.error().text().find('\n'), std::string::npos);
}

TEST(LibvirtHypervisor, SaysWhatIsWrongWithAConnection) {
    const auto none =
        connect_libvirt("nosuchdriver:///system", Deadline::in(std::chrono::seconds(60)));
    ASSERT_FALSE(none);
    EXPECT_THAT(none.error().text(), HasSubstr("nosuchdriver:///system"));
    EXPECT_THAT(none.error().text(), HasSubstr("libvirt says"));
}

TEST(Version, IsWrittenAsPeopleWriteIt) {
    EXPECT_EQ(version_text(9007000), "9.7.0");
    EXPECT_EQ(version_text(11003002), "11.3.2");
    EXPECT_EQ(version_text(0), "unknown");
}

TEST(VendorVfioObstacle, IsThereBeforeLibvirt97Only) {
    EXPECT_TRUE(vendor_vfio_obstacle({"QEMU", 9006001, 0}));
    EXPECT_FALSE(vendor_vfio_obstacle({"QEMU", 9007000, 0}));
    EXPECT_FALSE(vendor_vfio_obstacle({"QEMU", 12000000, 0}));
    EXPECT_TRUE(vendor_vfio_obstacle({"TEST", 12000000, 0}));
}

} // namespace vgpu::cli
