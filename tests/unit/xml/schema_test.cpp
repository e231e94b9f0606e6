#include "tests/unit/xml/domain_files.hpp"
#include "tests/unit/xml/schema_validator.hpp"

#include <gtest/gtest.h>

namespace vgpu::xml {
namespace {

std::string with(const std::string& xml, const Assignment& assignment) {
    return value_of(with_assignment(xml, assignment));
}

Assignment full(Assignment assignment) {
    assignment.request.gpu = pci("10000:41:00.0");
    assignment.request.params = "frame_rate_limiter=0, \"x\"<1";
    return assignment;
}

/// One of our elements with the given attributes of its only device.
std::string element(const std::string& device_attributes,
                    const std::string& domain = " domain='11112222-3333-4444-8555-666677778888'") {
    return "<v:devices xmlns:v='urn:virt-vgpu:domain:1'" + domain + "><v:device " +
           device_attributes + "/></v:devices>";
}

TEST(MetadataSchema, AcceptsWhatIsGenerated) {
    for (const Assignment& assignment : {pci_assignment("vgpu0"), mdev_assignment("_-9"),
                                         full(pci_assignment("A")), full(mdev_assignment("b"))}) {
        const std::string xml = with(domain_file("plain.xml"), assignment);
        EXPECT_EQ(schema_errors(VGPU_METADATA_SCHEMA, metadata_element(xml)), "");
        const std::string two = with(xml, pci_assignment("second"));
        EXPECT_EQ(schema_errors(VGPU_METADATA_SCHEMA, metadata_element(two)), "");
    }
}

TEST(MetadataSchema, AgreesWithTheReader) {
    struct Case {
        std::string attributes;
        bool good;
    };
    for (const Case& c : std::vector<Case>{
             {"name='a' profile='NVIDIA L40S-4Q'", true},
             {"name='a' profile='nvidia-1150' gpu='0000:41:00.0' params=''", true},
             {"name='a' profile='1150' gpu='00010000:C8:1F.7' params='a=1,b=2'", true},
             {"name='a' profile=' x '", true},
             {"profile='p'", false},
             {"name='' profile='p'", false},
             {"name='a b' profile='p'", false},
             {"name='a.b' profile='p'", false},
             {"name='" + std::string(65, 'n') + "' profile='p'", false},
             {"name='a'", false},
             {"name='a' profile=''", false},
             {"name='a' profile='  '", false},
             {"name='a' profile='a&#10;b'", false},
             {"name='a' profile='a&#9;b'", false},
             {"name='a' profile='p' params='a&#10;b'", false},
             {"name='a' profile='p' params='a&#127;b'", false},
             {"name='a' profile='p' gpu=''", false},
             {"name='a' profile='p' gpu='41:00.0'", false},
             {"name='a' profile='p' gpu='0000:41:20.0'", false},
             {"name='a' profile='p' gpu='0000:41:00.8'", false},
         }) {
        const std::string xml = element(c.attributes);
        EXPECT_EQ(schema_errors(VGPU_METADATA_SCHEMA, xml).empty(), c.good) << c.attributes;
        EXPECT_EQ(read_domain(domain_with(xml, "")).has_value(), c.good) << c.attributes;
    }
}

TEST(MetadataSchema, RefusesSlipsThatTheReaderTolerates) {
    EXPECT_NE(schema_errors(VGPU_METADATA_SCHEMA, element("name='a' profile='p' gpus='x'")), "");
    EXPECT_NE(schema_errors(VGPU_METADATA_SCHEMA, element("name='a' profile='p'", " domain='x'")),
              "");
    EXPECT_NE(
        schema_errors(VGPU_METADATA_SCHEMA, "<devices><device name='a' profile='p'/></devices>"),
        "");
    EXPECT_NE(schema_errors(VGPU_METADATA_SCHEMA, "<v:devices xmlns:v='urn:virt-vgpu:domain:1'/>"),
              "");
    EXPECT_EQ(schema_errors(VGPU_METADATA_SCHEMA, element("name='a' profile='p'", "")), "");
}

class LibvirtSchema : public testing::Test {
protected:
    void SetUp() override {
        if (libvirt_schemas().empty()) {
            GTEST_SKIP()
                << "libvirt's schemas are not installed (/usr/share/libvirt/schemas, Debian "
                   "package libvirt-daemon-system or libvirt-clients) and "
                   "VGPU_LIBVIRT_SCHEMAS names no other directory";
        }
    }

    static void expect_valid(const std::string& xml) {
        for (const std::string& schema : libvirt_schemas()) {
            EXPECT_EQ(schema_errors(schema, xml), "") << schema << "\n" << xml;
        }
    }
};

/// Files that are domains as users and libvirt write them; a status file has no schema.
std::vector<std::string> domains() {
    std::vector<std::string> files;
    for (const std::string& file : good_domain_files()) {
        if (file != "status.xml") {
            files.push_back(file);
        }
    }
    return files;
}

TEST_F(LibvirtSchema, RefusesADomainWithAFault) {
    for (const std::string& schema : libvirt_schemas()) {
        EXPECT_NE(schema_errors(schema, replaced(domain_file("plain.xml"), "vcpu placement",
                                                 "vcpu displacement")),
                  "");
    }
}

TEST_F(LibvirtSchema, AcceptsNewAssignmentsInEveryDomain) {
    for (const std::string& file : domains()) {
        expect_valid(domain_file(file));
        expect_valid(with(domain_file(file), full(pci_assignment("fresh"))));
        Assignment mdev = full(mdev_assignment("fresh"));
        expect_valid(with(domain_file(file), mdev));
        mdev.display = true;
        expect_valid(with(domain_file(file), mdev));
    }
}

TEST_F(LibvirtSchema, AcceptsAHostdevThatChangesItsKind) {
    const std::string vf =
        replaced(domain_file("clone.xml"), "<source>", "<source writeFiltering='no'>");
    expect_valid(vf);
    const std::string mdev = with(vf, mdev_assignment("vgpu0"));
    expect_valid(mdev);
    expect_valid(with(mdev, pci_assignment("vgpu0")));
    const std::string framebuffer =
        replaced(domain_file("mdev.xml"), "display='on'", "display='on' ramfb='on'");
    expect_valid(framebuffer);
    expect_valid(with(framebuffer, pci_assignment("desk")));
}

TEST_F(LibvirtSchema, AcceptsTheDomainAfterRemoval) {
    const std::string live = domain_file("pci-live.xml");
    expect_valid(value_of(without_assignment(live, "vgpu0")));
    const std::string plain = with(domain_file("plain.xml"), pci_assignment("a"));
    expect_valid(value_of(without_assignment(plain, "a")));
}

} // namespace
} // namespace vgpu::xml
