#include "agent/core/error.hpp"
#include "agent/core/result.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

namespace vgpu {
namespace {

TEST(Error, OfASystemCallSaysOperationObjectAndReason) {
    const Error error = Error::system(ENXIO, "read", "/sys/x");
    EXPECT_EQ(error.text(), "read /sys/x: No such device or address");
    EXPECT_EQ(error.error_number(), ENXIO);
    EXPECT_EQ(error.code(), ErrorCode::not_found);
}

TEST(Error, KeepsCodeAndErrnoWhenContextAndHintAreAdded) {
    const Error error = Error::system(EBUSY, "open", "/dev/vfio/7").in("vm1").hint("stop vm1");
    EXPECT_EQ(error.text(), "vm1: open /dev/vfio/7: Device or resource busy; stop vm1");
    EXPECT_EQ(error.error_number(), EBUSY);
    EXPECT_EQ(error.code(), ErrorCode::busy);
}

TEST(Error, IsOneLineWhateverItWasMadeOf) {
    const Error error(ErrorCode::invalid, "first\nsecond\x1b[31m\x7f");
    EXPECT_EQ(error.text(), "first?second?[31m?");
}

TEST(Error, HasATextForAnUnknownErrno) {
    EXPECT_EQ(errno_text(987654), "error 987654");
}

TEST(Printable, CutsALongTextAndShowsThatItDid) {
    EXPECT_EQ(printable("abcdef", 4), "abcd...");
    EXPECT_EQ(printable("abcd", 4), "abcd");
}

TEST(Printable, KeepsLettersOfAllScriptsAndNothingThatMovesTheCursorOrReordersText) {
    EXPECT_EQ(printable("Ströme 图形"), "Ströme 图形");
    EXPECT_EQ(printable("a\xc2\x9b"
                        "31mb"),
              "a?31mb")
        << "a control character of two bytes";
    EXPECT_EQ(printable("a\xe2\x80\xae"
                        "b"),
              "a?b")
        << "right-to-left override";
    EXPECT_EQ(printable("a\xff\xc3"), "a??") << "no UTF-8";
    EXPECT_EQ(printable("\xc0\xaf"), "??") << "an overlong form";
}

Result<int> half(int number) {
    if (number % 2 != 0) {
        return fail(ErrorCode::invalid, "odd");
    }
    return number / 2;
}

Result<int> quarter(int number) {
    VGPU_TRY(half(number));
    VGPU_TRY_ASSIGN(const int result, half(number / 2));
    return result;
}

TEST(Error, SeenFromFurtherOutStillNamesItsDeviceAndItsHolder) {
    const Error inner = Error(ErrorCode::busy, "held").on("0000:41:00.4").held_by("f0");
    const Error outer = inner.in("domain vm1").hint("stop it").on("0000:41:00.0");
    EXPECT_EQ(outer.text(), "domain vm1: held; stop it");
    EXPECT_EQ(outer.device(), "0000:41:00.4") << "what failed first is what stands in the way";
    EXPECT_EQ(outer.holder(), "f0");
}

TEST(Result, TryReturnsTheFirstErrorAndElseTheValue) {
    EXPECT_EQ(quarter(12).value(), 3);
    EXPECT_EQ(quarter(3).error().text(), "odd");
    EXPECT_EQ(quarter(6).error().text(), "odd");
}

} // namespace
} // namespace vgpu
