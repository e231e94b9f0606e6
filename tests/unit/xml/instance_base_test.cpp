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

InstanceRequest based_on(const std::string& base) {
    InstanceRequest request = request_from(R"({"name":"new & 1","gpus":[{"profile":"p"}],
                                               "base_xml":"<domain/>"})");
    request.base_xml = base;
    return request;
}

std::string built_on(const std::string& base) {
    return value_of(instance_xml(based_on(base), instance_uuid()));
}

Error refusal(const InstanceRequest& request) {
    const auto xml = instance_xml(request, instance_uuid());
    return xml ? Error(ErrorCode::io, "no error") : xml.error();
}

std::string refused(const std::string& base) {
    const Error error = refusal(based_on(base));
    EXPECT_EQ(error.code(), ErrorCode::invalid) << error.text();
    return error.text();
}

const std::string foreign =
    "<?xml version='1.0'?>\n"
    "<domain type='kvm' xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>\n"
    "\t<!-- mine -->\n"
    "\t<name>template</name>\n"
    "\t<memory>1</memory>\n"
    "\t<devices>\n\t\t<disk  type='file'/>\n\t</devices>\n"
    "\t<qemu:commandline>\n\t\t<qemu:arg value='-foo'/>\n\t</qemu:commandline>\n"
    "</domain>\n";

TEST(BaseXml, IsKeptToTheByteButForNameUuidAndRequest) {
    const std::string xml = built_on(foreign);
    const std::string text = request_text(based_on(foreign));
    std::string expected =
        replaced(foreign, "<name>template</name>",
                 "<name>new &amp; 1</name>\n\t<uuid>" + instance_uuid().to_string() + "</uuid>");
    const auto begin = xml.find("\n\t<metadata>");
    const auto end = xml.find("</metadata>");
    ASSERT_NE(begin, xml.npos);
    ASSERT_NE(end, xml.npos);
    std::string rest = xml;
    rest.erase(begin, end + 11 - begin);
    EXPECT_EQ(rest, expected);
    EXPECT_EQ(value_of(instance_request_of(xml)), text);
    EXPECT_THAT(text, Not(HasSubstr("template")));
    EXPECT_THAT(xml, HasSubstr("<qemu:arg value='-foo'/>"));
}

TEST(BaseXml, MayHaveNameAndUuidInAnyOrderOrNone) {
    const std::string name = "<name>x</name>";
    const std::string id = "<uuid>11112222-3333-4444-8555-666677778888</uuid>";
    const std::string memory = "<memory>1</memory>";
    for (const std::string& inner :
         {memory, name + memory, id + memory, memory + name, memory + id, name + id, id + name,
          id + memory + name, "\n  " + id + "\n  " + name + "\n", "<name/>" + memory,
          "<uuid/>" + memory, name, id}) {
        const DomainView view =
            value_of(read_domain(built_on("<domain type='kvm'>" + inner + "</domain>")));
        EXPECT_EQ(view.name, "new & 1") << inner;
        EXPECT_EQ(view.uuid, instance_uuid()) << inner;
    }
}

TEST(BaseXml, TakesTheVgpusLikeABuiltOne) {
    const InstanceRequest request = based_on(domain_file("plain.xml"));
    const std::string xml = value_of(with_devices(value_of(instance_xml(request, instance_uuid())),
                                                  request, {DeviceKey(pci("0000:41:00.5"))}));
    EXPECT_EQ(value_of(read_domain(xml)).hostdevs.size(), 1U);
    for (const std::string& schema : libvirt_schemas()) {
        EXPECT_EQ(schema_errors(schema, xml), "") << xml;
    }
}

TEST(BaseXml, ReplacesTheRequestThatItWasMadeFrom) {
    const std::string once = built_on(foreign);
    const std::string twice = built_on(once);
    EXPECT_EQ(value_of(instance_request_of(twice)), request_text(based_on(once)));
    EXPECT_EQ(twice.find("vgpu:instance xmlns"), twice.rfind("vgpu:instance xmlns"));
}

TEST(BaseXml, ThatAsksForVgpusItselfIsRefused) {
    EXPECT_THAT(refused(domain_file("pci-live.xml")), HasSubstr("asks for vGPUs"));
}

TEST(BaseXml, WithADeviceOfAVgpusAliasIsAConflict) {
    const Error error = refusal(based_on(domain_with("", "<disk><alias name='ua-vgpu0'/></disk>")));
    EXPECT_EQ(error.code(), ErrorCode::conflict);
    EXPECT_THAT(error.text(), HasSubstr("ua-vgpu0"));
}

TEST(BaseXml, OfAnotherTypeThanSaidIsRefused) {
    InstanceRequest request = based_on(foreign);
    request.virt_type = "qemu";
    EXPECT_THAT(refusal(request).text(), HasSubstr("domain type is \"kvm\""));
    request.virt_type = "kvm";
    EXPECT_EQ(refusal(request).text(), "no error");
}

TEST(BaseXml, NeedsGraphicsForADisplay) {
    InstanceRequest request = based_on(foreign);
    request.gpus[0].display = true;
    EXPECT_THAT(refusal(request).text(), HasSubstr("<graphics>"));
    request.base_xml = domain_with("", "<graphics type='vnc'/>");
    EXPECT_EQ(refusal(request).text(), "no error");
}

TEST(BaseXml, ThatIsNoDomainOrHostileIsRefused) {
    EXPECT_THAT(refused("x"), HasSubstr("/base_xml: "));
    EXPECT_THAT(refused("sha256:00"), HasSubstr("/base_xml: "));
    EXPECT_THAT(refused("<network/>"), HasSubstr("outermost"));
    EXPECT_THAT(refused("<domain/>"), HasSubstr("empty"));
    EXPECT_THAT(refused("<domain>text</domain>"), HasSubstr("empty"));
    EXPECT_THAT(refused(domain_file("status.xml")), HasSubstr("outermost"));
    EXPECT_THAT(refused("<!DOCTYPE domain [<!ENTITY x SYSTEM 'file:///etc/hostname'>]>"
                        "<domain><name>&x;</name></domain>"),
                HasSubstr("document type"));
    EXPECT_THAT(refused("<domain><title>&x;</title></domain>"), HasSubstr("entity"));
    std::string deep;
    for (int i = 0; i < 100000; ++i) {
        deep += "<a>";
    }
    EXPECT_THAT(refused("<domain>" + deep + "</domain>"), HasSubstr("deep"));
    EXPECT_THAT(refused("<domain>" + std::string(max_domain_xml_bytes, ' ') + "</domain>"),
                HasSubstr("bytes"));
    EXPECT_THAT(refused(std::string("<domain>\0</domain>", 18)), HasSubstr("NUL"));
}

TEST(InstanceRequestOf, FindsNothingInDomainsOfOthers) {
    for (const std::string& file : good_domain_files()) {
        EXPECT_EQ(value_of(instance_request_of(domain_file(file))), std::nullopt);
    }
    EXPECT_FALSE(instance_request_of("<x/>").has_value());
}

TEST(InstanceRequestOf, ReadsTheFirstElementAndIgnoresSpaceAround) {
    const std::string begin = "<i:instance xmlns:i='urn:virt-vgpu:instance:1'>";
    const std::string two = begin + "\n  {}\n</i:instance>" + begin + "{1}</i:instance>";
    EXPECT_EQ(value_of(instance_request_of(domain_with(two, ""))), "{}");
    EXPECT_EQ(value_of(instance_request_of(
                  domain_with("<i:other xmlns:i='urn:virt-vgpu:instance:1'>{}</i:other>", ""))),
              std::nullopt);
}

TEST(MetadataSchema, AcceptsTheKeptRequest) {
    const auto element = [](const std::string& text) {
        return "<v:instance xmlns:v='urn:virt-vgpu:instance:1'>" + text + "</v:instance>";
    };
    EXPECT_EQ(schema_errors(VGPU_METADATA_SCHEMA, element(R"({"name":"a"})")), "");
    EXPECT_EQ(schema_errors(VGPU_METADATA_SCHEMA, element("\n {}\n")), "");
    for (const char* bad : {"", "name", "<a/>"}) {
        EXPECT_NE(schema_errors(VGPU_METADATA_SCHEMA, element(bad)), "") << bad;
    }
}

} // namespace
} // namespace vgpu::xml
