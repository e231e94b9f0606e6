#include "tests/unit/xml/domain_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace vgpu::xml {
namespace {

using testing::HasSubstr;

std::string with(const std::string& xml, const Assignment& assignment) {
    return value_of(with_assignment(xml, assignment));
}

/// True if `longer` is `shorter` with text added in places, and none taken away.
bool only_adds(std::string_view shorter, std::string_view longer) {
    std::size_t done = 0;
    for (const char c : longer) {
        done += done < shorter.size() && shorter[done] == c ? 1U : 0U;
    }
    return done == shorter.size();
}

/// A name that no test file uses, so that the assignment is a new one everywhere.
Assignment fresh(bool mdev) {
    Assignment assignment = mdev ? mdev_assignment("fresh") : pci_assignment("fresh");
    assignment.request.params = "a=\"<&>\"";
    return assignment;
}

TEST(EditedBytes, AreRestoredWhenTheAssignmentIsRemoved) {
    for (const std::string& file : good_domain_files()) {
        if (file == "clone.xml") {
            continue; // its metadata becomes its own, and stays so
        }
        for (const bool mdev : {false, true}) {
            const std::string before = domain_file(file);
            const std::string after = with(before, fresh(mdev));
            EXPECT_TRUE(only_adds(before, after)) << file;
            EXPECT_EQ(value_of(without_assignment(after, "fresh")), before) << file;
        }
    }
}

TEST(EditedBytes, KeepEverythingElseInAHandmadeFile) {
    const std::string before = domain_file("handmade.xml");
    const std::string after = with(before, pci_assignment("vgpu0"));
    std::string expected = replaced(before, "\n\t</metadata>", R"(
		<vgpu:devices xmlns:vgpu="urn:virt-vgpu:domain:1" domain="1c9d7e52-0b3a-4f68-95d1-e2a4c6b8d0f3">
			<vgpu:device name="vgpu0" profile="NVIDIA L40S-4Q"/>
		</vgpu:devices>
	</metadata>)");
    expected = replaced(expected, "\n\t</devices>", R"(
		<hostdev mode='subsystem' type='pci' managed='no'>
			<driver name='vfio'/>
			<source>
				<address domain='0x0000' bus='0x41' slot='0x00' function='0x5'/>
			</source>
			<alias name='ua-vgpu0'/>
		</hostdev>
	</devices>)");
    EXPECT_EQ(after, expected);
}

TEST(EditedBytes, LookLikeLibvirtsOwn) {
    const std::string before = domain_file("plain.xml");
    std::string expected = replaced(before, "</uuid>", R"(</uuid>
  <metadata>
    <vgpu:devices xmlns:vgpu="urn:virt-vgpu:domain:1" domain="3b0d4a52-7c1e-4f7a-9a55-0d6e8f2b1c01">
      <vgpu:device name="vgpu0" profile="GRID T4-2Q"/>
    </vgpu:devices>
  </metadata>)");
    expected = replaced(expected, "\n  </devices>", R"(
    <hostdev mode='subsystem' type='mdev' managed='no' model='vfio-pci'>
      <source>
        <address uuid='d0c0b0a0-1111-4222-8333-444455556666'/>
      </source>
      <alias name='ua-vgpu0'/>
    </hostdev>
  </devices>)");
    EXPECT_EQ(with(before, mdev_assignment("vgpu0")), expected);
}

TEST(EditedBytes, FollowThePrefixThatIsThere) {
    const std::string before = domain_file("mdev.xml");
    EXPECT_THAT(with(before, pci_assignment("two")),
                HasSubstr("\n      <v:device name=\"two\" profile=\"NVIDIA L40S-4Q\"/>\n    </v:"));
    const std::string unprefixed =
        domain_with("<devices xmlns='urn:virt-vgpu:domain:1'></devices>", "");
    const std::string after = with(unprefixed, pci_assignment("two"));
    EXPECT_THAT(after, HasSubstr("<device name=\"two\" profile=\"NVIDIA L40S-4Q\"/></devices>"));
    EXPECT_EQ(value_of(read_domain(after)).requests.size(), 1U);
}

TEST(EditedBytes, StayOnOneLineIfTheDocumentIsOneLine) {
    const std::string before = "<domain><name>a</name><uuid>11112222-3333-4444-8555-666677778888"
                               "</uuid><devices><disk/></devices></domain>";
    const std::string after = with(before, pci_assignment("v"));
    EXPECT_EQ(after.find('\n'), after.npos);
    EXPECT_EQ(value_of(without_assignment(after, "v")), before);
}

TEST(EditedBytes, OpenSelfClosedAndMissingParents) {
    const std::string head = "<domain>\n  <name>a</name>\n"
                             "  <uuid>11112222-3333-4444-8555-666677778888</uuid>\n";
    for (const std::string rest :
         {"", "  <devices/>\n", "  <devices />\n", "  <devices></devices>\n", "  <metadata/>\n",
          "  <metadata />\n  <devices\n  />\n", "  <metadata>\n  </metadata>\n",
          "  <devices>\n  </devices>\n", "  <devices> </devices>\n"}) {
        const std::string before = head + rest + "</domain>\n";
        const std::string after = with(before, pci_assignment("v"));
        EXPECT_EQ(with(after, pci_assignment("v")), after);
        EXPECT_THAT(after, HasSubstr("\n    <hostdev mode=")) << after;
        EXPECT_THAT(after, HasSubstr("\n  </devices>\n</domain>\n")) << after;
        EXPECT_THAT(after, HasSubstr("\n    <vgpu:devices xmlns")) << after;
        EXPECT_THAT(after, HasSubstr("\n  </metadata>\n")) << after;
    }
}

TEST(EditedBytes, KeepWindowsLineEndings) {
    std::string before;
    for (const char c : domain_file("plain.xml")) {
        before += c == '\n' ? "\r\n" : std::string(1, c);
    }
    const std::string after = with(before, pci_assignment("v"));
    EXPECT_EQ(std::ranges::count(after, '\n'), std::ranges::count(after, '\r'));
    EXPECT_THAT(after, HasSubstr("\r\n      <driver name='vfio'/>\r\n"));
    EXPECT_EQ(value_of(without_assignment(after, "v")), before);
}

TEST(EditedBytes, KeepAByteOrderMark) {
    const std::string before = "\xef\xbb\xbf" + domain_file("handmade.xml");
    const std::string after = with(before, pci_assignment("v"));
    EXPECT_TRUE(after.starts_with("\xef\xbb\xbf<?xml"));
    EXPECT_EQ(value_of(without_assignment(after, "v")), before);
}

TEST(EditedBytes, ArePlacedRightInspiteOfMisleadingText) {
    const std::string tricky =
        "<!-- </devices> <hostdev> --><![CDATA[</devices><hostdev type='pci'>]]>"
        "<?pi </devices>?><a b='/>' c=\"</devices>\" d='>'/><e f = \"'/>'\" >&lt;/devices></e >";
    const std::string before = domain_with("<x xmlns='urn:x' y='</metadata'>]]&gt;</x>", tricky);
    ASSERT_FALSE(read_domain(before)) << "a '<' in an attribute is not well-formed";
    const std::string good = domain_with("<x xmlns='urn:x' y='/metadata>'>]]&gt;</x>",
                                         replaced(tricky, "c=\"</devices>\"", "c=\"/devices>\""));
    const std::string after = with(good, pci_assignment("v"));
    EXPECT_EQ(value_of(read_domain(after)).hostdevs.size(), 1U);
    EXPECT_EQ(value_of(without_assignment(after, "v")), good);
}

} // namespace
} // namespace vgpu::xml
