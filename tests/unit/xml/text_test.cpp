#include "xml/sha256.hpp"
#include "xml/xml_text.hpp"

#include <gtest/gtest.h>

namespace vgpu::xml {
namespace {

// The examples of FIPS 180, and lengths around the padding.
TEST(Sha256, AgreesWithKnownDigests) {
    EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    EXPECT_EQ(sha256_hex("abc"),
              "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
              "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    EXPECT_EQ(sha256_hex(std::string(1000000, 'a')),
              "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    EXPECT_EQ(sha256_hex(std::string(55, 'a')),
              "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318");
    EXPECT_EQ(sha256_hex(std::string(64, 'a')),
              "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
}

TEST(XmlText, TakesWhatXmlGivesBack) {
    for (const char* good : {"", "a", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80",
                             "\xef\xbf\xbd", "\xf4\x8f\xbf\xbf", "\xc2\xa0"}) {
        EXPECT_TRUE(fits_xml(good)) << good;
    }
    EXPECT_TRUE(fits_xml("a\n\tb", true));
}

TEST(XmlText, RefusesControlCharactersAndWhatIsNoUtf8) {
    for (const std::string bad :
         {"\n", "\t", "\r", "\x1b", "\x7f", "\xc2\x80", "\x80", "\xc0\x80", "\xc1\xbf",
          "\xe0\x80\x80", "\xed\xa0\x80", "\xef\xbf\xbe", "\xef\xbf\xbf", "\xf4\x90\x80\x80",
          "\xf5\x80\x80\x80", "\xe2\x82", "\xe2", "\xff", "a\xc3"}) {
        EXPECT_FALSE(fits_xml(bad)) << testing::PrintToString(bad);
    }
    EXPECT_FALSE(fits_xml(std::string_view("\0", 1), true));
    EXPECT_FALSE(fits_xml("\r", true));
}

} // namespace
} // namespace vgpu::xml
