#include "tests/unit/xml/domain_files.hpp"

#include <gtest/gtest.h>

namespace vgpu::xml {
namespace {

bool finds_something(const DomainView& view) {
    bool found = view.has_request;
    for (const Hostdev& hostdev : view.hostdevs) {
        found = found || hostdev.type != Hostdev::Type::other;
    }
    return found;
}

TEST(QuickLook, PassesADomainWithoutHostdevs) {
    EXPECT_FALSE(may_concern_us(domain_file("plain.xml")));
    EXPECT_FALSE(may_concern_us("\n " + domain_with("<a xmlns='urn:a'/>", "<disk a='&amp;'/>")));
}

TEST(QuickLook, NeverMissesWhatTheReaderFinds) {
    for (const std::string& file : good_domain_files()) {
        const std::string xml = domain_file(file);
        if (finds_something(value_of(read_domain(xml)))) {
            EXPECT_TRUE(may_concern_us(xml)) << file;
        }
    }
}

TEST(QuickLook, SeesHostdevsHoweverTheyAreWritten) {
    constexpr std::string_view tail = "<source><address bus='1'/></source></hostdev>";
    for (const std::string tag :
         {"<hostdev type='pci'>", "<hostdev type=\"pci\">", "<hostdev\n\ttype = 'pci' >",
          "<hostdev type='&#112;ci'>", "<hostdev mode='subsystem' type='p&#x63;i'>",
          "<hostdev managed='yes' mode='&#115;ubsystem' type='pci'\n>"}) {
        const std::string xml = domain_with("", tag + std::string(tail));
        EXPECT_TRUE(finds_something(value_of(read_domain(xml)))) << tag;
        EXPECT_TRUE(may_concern_us(xml)) << tag;
    }
}

TEST(QuickLook, SeesOurNamespaceHoweverItIsWritten) {
    for (const std::string declaration :
         {"xmlns='urn:virt-vgpu:domain:1'", "xmlns = \"urn:virt-vgpu:domain:1\"",
          "xmlns='&#117;rn:virt-vgpu:domain:1'", "xmlns='urn:virt&#x2d;vgpu:domain:1'",
          "xmlns='urn:virt-vgpu&#58;domain:1'", "xmlns='urn:virt-vgpu:domain:&#49;'",
          "a='1'\n xmlns\n=\n'u&#114;n&#58;v&#105;rt-vgp&#117;:&#100;omain:1'"}) {
        const std::string xml = domain_with("<devices " + declaration + "/>", "");
        EXPECT_TRUE(value_of(read_domain(xml)).has_request) << declaration;
        EXPECT_TRUE(may_concern_us(xml)) << declaration;
    }
}

TEST(QuickLook, SeesANamespaceDeclaredOnTheRoot) {
    const std::string xml = replaced(domain_with("<q:devices/>", ""), "<domain ",
                                     "<domain xmlns:q='urn:virt&#45;vgpu:domain:1' ");
    EXPECT_TRUE(value_of(read_domain(xml)).has_request);
    EXPECT_TRUE(may_concern_us(xml));
}

TEST(QuickLook, SaysYesToWhatItCannotJudge) {
    const std::string plain = domain_file("plain.xml");
    EXPECT_TRUE(may_concern_us(""));
    EXPECT_TRUE(may_concern_us("\n\n"));
    EXPECT_TRUE(may_concern_us("no XML"));
    EXPECT_TRUE(may_concern_us("<!DOCTYPE domain>" + plain));
    EXPECT_TRUE(may_concern_us(plain + "<!-- <!DOCTYPE -->"));
    EXPECT_TRUE(may_concern_us("<?xml version='1.0' encoding='UTF-7'?>" + plain));
    EXPECT_TRUE(may_concern_us("\xef\xbb\xbf" + plain));
    EXPECT_TRUE(may_concern_us(std::string("<\0d\0o\0m\0", 8)));
    EXPECT_TRUE(may_concern_us("\xff\xfe<"));
}

} // namespace
} // namespace vgpu::xml
