#include "tests/unit/xml/domain_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <libxml/parser.h>

namespace vgpu::xml {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// The error, after checking that nothing was printed.
std::string error_of(const std::string& xml) {
    testing::internal::CaptureStderr();
    testing::internal::CaptureStdout();
    const auto view = read_domain(xml);
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    if (view) {
        return "no error";
    }
    EXPECT_EQ(view.error().code(), ErrorCode::invalid);
    return view.error().text();
}

std::string times(std::size_t count, std::string_view part) {
    std::string text;
    text.reserve(count * part.size());
    for (std::size_t i = 0; i < count; ++i) {
        text += part;
    }
    return text;
}

int opened = 0;

xmlParserInputPtr refuse_to_open(const char*, const char*, xmlParserCtxtPtr) {
    ++opened;
    return nullptr;
}

/// Counts every attempt of libxml2 to open something.
class WatchedLoader {
public:
    WatchedLoader() : before_(xmlGetExternalEntityLoader()) {
        opened = 0;
        xmlSetExternalEntityLoader(refuse_to_open);
    }
    WatchedLoader(const WatchedLoader&) = delete;
    WatchedLoader& operator=(const WatchedLoader&) = delete;
    ~WatchedLoader() { xmlSetExternalEntityLoader(before_); }

private:
    xmlExternalEntityLoader before_;
};

TEST(HostileXml, BillionLaughsAreRefusedByTheirDoctype) {
    std::string dtd = "<!DOCTYPE domain [<!ENTITY l0 'lol'>";
    for (int i = 1; i < 10; ++i) {
        const std::string inner = "&l" + std::to_string(i - 1) + ";";
        dtd += "<!ENTITY l" + std::to_string(i) + " '" + times(10, inner) + "'>";
    }
    EXPECT_THAT(error_of(dtd + "]><domain><name>&l9;</name></domain>"), HasSubstr("document type"));
    EXPECT_THAT(error_of(dtd + "]><domain name='&l9;'/>"), HasSubstr("document type"));
}

TEST(HostileXml, ExternalEntitiesAreNeverOpened) {
    const WatchedLoader watched;
    const std::string body = "<domain><name>&x;</name></domain>";
    for (const std::string dtd :
         {"<!DOCTYPE domain [<!ENTITY x SYSTEM 'file:///etc/hostname'>]>",
          "<!DOCTYPE domain SYSTEM 'file:///etc/hostname'>",
          "<!DOCTYPE domain PUBLIC '-//A//B' 'http://127.0.0.1/x.dtd'>",
          "<!DOCTYPE domain [<!ENTITY % p SYSTEM 'file:///etc/hostname'> %p;]>",
          "<?xml version='1.0'?>\n<!-- c -->\n<!DOCTYPE domain [<!ENTITY x 'y'>]>"}) {
        EXPECT_THAT(error_of(dtd + body), HasSubstr("document type")) << dtd;
    }
    EXPECT_THAT(error_of(body), HasSubstr("entity"));
    const std::string include = domain_with(
        "<i:include xmlns:i='http://www.w3.org/2001/XInclude' href='/etc/hostname'/>", "");
    EXPECT_EQ(error_of(include), "no error");
    const std::string style = "<?xml-stylesheet href='/etc/hostname'?>";
    EXPECT_EQ(error_of(style + domain_with("", "")), "no error");
    EXPECT_EQ(opened, 0);
}

TEST(HostileXml, DocumentsAboveTheSizeLimitAreNotParsed) {
    const std::string base = domain_with("", "");
    const std::string fits = base + std::string(max_domain_xml_bytes - base.size(), ' ');
    EXPECT_EQ(error_of(fits), "no error");
    EXPECT_THAT(error_of(fits + " "), HasSubstr("4194304"));
    EXPECT_THAT(error_of(times(1024UL * 1024, "<a/>\n")), HasSubstr("5242880 bytes"));
}

TEST(HostileXml, DepthIsLimited) {
    EXPECT_THAT(error_of(times(10'000, "<a>")), HasSubstr("64 deep"));
    EXPECT_THAT(error_of(domain_with(times(10'000, "<a>") + times(10'000, "</a>"), "")),
                HasSubstr("64 deep"));
    // <domain> and <metadata> are two levels.
    const auto nested = [](std::size_t depth) {
        return domain_with(times(depth, "<a>") + times(depth, "</a>"), "");
    };
    EXPECT_EQ(error_of(nested(62)), "no error");
    EXPECT_THAT(error_of(nested(63)), HasSubstr("64 deep"));
    EXPECT_THAT(error_of(domain_with(times(62, "<a>") + "<b/>" + times(62, "</a>"), "")),
                HasSubstr("64 deep"));
}

// The next three keep libxml2 2.9 busy for minutes if they reach it.
TEST(HostileXml, AttributesOfOneElementAreLimited) {
    std::string tag = "<domain";
    for (int i = 0; i < 300'000; ++i) {
        tag += " a" + std::to_string(i) + "=''";
    }
    EXPECT_THAT(error_of(tag + "/>"), HasSubstr("256 attributes"));
    EXPECT_THAT(error_of("<!-- \" ' --><?p '?><a b='>' c=\">\"><![CDATA[<\"]]>" + tag + "/></a>"),
                HasSubstr("256 attributes"));
}

TEST(HostileXml, NamespacesAreLimited) {
    std::string text = "<domain>";
    for (int i = 0; i < 2'000; ++i) {
        text += "<a xmlns:n" + std::to_string(i) + "='u'/>";
    }
    EXPECT_THAT(error_of(text + "</domain>"), HasSubstr("1000 namespaces"));
}

TEST(HostileXml, ElementsAreLimited) {
    EXPECT_THAT(error_of("<domain>" + times(1'000'000, "<a/>") + "</domain>"),
                HasSubstr("200000 elements"));
}

TEST(HostileXml, TenThousandHostdevsAreRead) {
    std::string hostdevs;
    for (int i = 0; i < 10'000; ++i) {
        hostdevs += "<hostdev type='pci'><source><address domain='" + std::to_string(i) +
                    "'/></source><alias name='ua-n'/></hostdev>";
    }
    const std::string xml = domain_with("", hostdevs);
    EXPECT_EQ(value_of(read_domain(xml)).hostdevs.size(), 10'000U);
    const auto after = with_assignment(xml, pci_assignment("v"));
    EXPECT_EQ(value_of(read_domain(value_of(after))).hostdevs.size(), 10'001U);
    EXPECT_THAT(
        error_of(domain_with(request_metadata("<vgpu:device name='n' profile='p'/>"), hostdevs)),
        HasSubstr("10000 hostdevs have the alias ua-n"));
}

TEST(HostileXml, IgnoredMetadataIsNotedOnce) {
    const std::string first =
        "<v:devices xmlns:v='urn:virt-vgpu:domain:1'>" + times(50'000, "<v:x/>") + "</v:devices>";
    std::string xml = domain_with(first, "");
    xml = replaced(xml, "<domain ", "<domain xmlns:v='urn:virt-vgpu:domain:1' ");
    xml = replaced(xml, "</metadata>",
                   times(50'000, "<v:y/>\n") + "</metadata>" + times(50'000, "<metadata/>\n"));
    EXPECT_EQ(value_of(read_domain(xml)).notes.size(), 2U);
}

TEST(HostileXml, EveryTruncationIsRefused) {
    for (const std::string& file : good_domain_files()) {
        const std::string whole = domain_file(file);
        const auto root_end = whole.find(file == "status.xml" ? "</domstatus>" : "</domain>");
        ASSERT_NE(root_end, whole.npos);
        const auto last = whole.find('>', root_end);
        for (std::size_t length = 0; length <= last; ++length) {
            ASSERT_FALSE(read_domain(whole.substr(0, length))) << file << " at " << length;
        }
        EXPECT_TRUE(read_domain(whole.substr(0, last + 1))) << file;
    }
}

TEST(HostileXml, OtherEncodingsAreRefused) {
    const std::string plain = domain_with("", "");
    std::string utf16;
    std::string utf16_big = "\xfe\xff";
    for (const char c : plain) {
        utf16.append({c, '\0'});
        utf16_big.append({'\0', c});
    }
    EXPECT_THAT(error_of(utf16), HasSubstr("UTF-16"));
    EXPECT_THAT(error_of("\xff\xfe" + utf16), HasSubstr("UTF-16"));
    EXPECT_THAT(error_of(utf16_big), HasSubstr("UTF-16"));
    EXPECT_THAT(error_of("\x4c\x6f\xa7\x94"), HasSubstr("no XML")); // EBCDIC for "<?xm"
    for (const std::string encoding : {"UTF-7", "UTF-16", "ISO-8859-1", "IBM037", "nonsense"}) {
        EXPECT_THAT(error_of("<?xml version='1.0' encoding='" + encoding + "'?>" + plain),
                    HasSubstr("only UTF-8"));
    }
    for (const std::string encoding : {"UTF-8", "utf-8", "US-ASCII"}) {
        EXPECT_EQ(error_of("<?xml version=\"1.0\" encoding = \"" + encoding + "\"?>" + plain),
                  "no error");
    }
}

TEST(HostileXml, BytesThatAreNoTextAreRefused) {
    const std::string plain = domain_with("", "");
    EXPECT_THAT(error_of(replaced(plain, "vm1", std::string("vm\0", 3))), HasSubstr("NUL"));
    EXPECT_THAT(error_of(plain + std::string(1, '\0')), HasSubstr("NUL"));
    for (const std::string bytes :
         {"\xff", "\xc0\xaf", "\xe2\x82", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\x80", "\x01",
          "\x1b[31m", "\xef\xbf\xbf", "&#0;", "&#1;", "&#xd800;", "&#x110000;", "&#99999999999;"}) {
        EXPECT_THAT(error_of(replaced(plain, "vm1", "vm" + bytes)), Not("no error")) << bytes;
        EXPECT_THAT(error_of(replaced(plain, "kvm", "kvm" + bytes)), Not("no error")) << bytes;
    }
}

TEST(HostileXml, IllFormedDocumentsAreRefusedWithTheLine) {
    const std::string plain = domain_with("", "");
    EXPECT_THAT(error_of(replaced(plain, "type='kvm'", "type='kvm' type='kvm'")),
                AllOf(HasSubstr("line 1"), HasSubstr("twice")));
    EXPECT_THAT(error_of(replaced(plain, "</metadata>", "</meta>")),
                AllOf(HasSubstr("line 4"), HasSubstr("does not match")));
    EXPECT_THAT(error_of(plain + "<domain/>"), HasSubstr("follows the end"));
    EXPECT_THAT(error_of(replaced(plain, "vm1", "a & b")), HasSubstr("'&' is not escaped"));
    EXPECT_THAT(error_of(replaced(plain, "'kvm'", "kvm")), HasSubstr("not quoted"));
    EXPECT_THAT(error_of(replaced(plain, "kvm", "<")), HasSubstr("unescaped '<'"));
    EXPECT_THAT(error_of(replaced(plain, "vm1", "&nbsp;")), HasSubstr("predefined"));
    EXPECT_THAT(error_of("<!-- " + plain), HasSubstr("not closed"));
    EXPECT_THAT(error_of("<!-- nothing -->"), HasSubstr("not well-formed"));
    EXPECT_THAT(error_of("<>"), HasSubstr("not well-formed"));
    EXPECT_THAT(error_of("</domain>"), HasSubstr("not well-formed"));
}

TEST(HostileXml, AnUnboundPrefixIsAsHarmlessAsToLibvirt) {
    EXPECT_EQ(error_of(domain_with("<a:b c:d='e'/>", "<f:hostdev type='pci'/>")), "no error");
}

TEST(HostileXml, ErrorsDoNotQuoteSecrets) {
    const std::string secret = "hunter2";
    for (const std::string graphics :
         {"<graphics passwd='hunter2", "<graphics passwd='hunter2'", "<graphics passwd=hunter2/>",
          "<graphics passwd='&hunter2;'/>", "<graphics passwd='hunter2' passwd='hunter2'/>",
          "<graphics>hunter2 & hunter2</graphics>", "<graphics hunter2></hunter2>",
          "<graphics passwd='hunter2\x01'/>", "<graphics passwd='hunter2\xff'/>",
          "<graphics xmlns:a='hunter2 :' a:b='hunter2'/><", "<![CDATA[hunter2", "<!hunter2>",
          "<graphics passwd='<hunter2'/>", "&hunter2;", "<graphics hunter2='a'b/>"}) {
        EXPECT_THAT(error_of(domain_with("", graphics)),
                    AllOf(Not("no error"), Not(HasSubstr(secret))))
            << graphics;
    }
}

} // namespace
} // namespace vgpu::xml
