#include "base/strings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "base/shortened.h"

namespace sonde::base {
namespace {

using ::testing::ElementsAre;

TEST(Strings, SplitTrimJoin) {
  EXPECT_THAT(Split("a,,b", ','), ElementsAre("a", "", "b"));
  EXPECT_THAT(Split("", ','), ElementsAre(""));
  EXPECT_EQ(Trim(" \t a b\r\n"), "a b");
  EXPECT_EQ(Trim(" \n"), "");
  EXPECT_EQ(Join(Split("a,b,c", ','), "; "), "a; b; c");
  EXPECT_EQ(Concat("a", std::string("b"), std::string_view("c")), "abc");
  EXPECT_EQ(ReplaceAll("a.b.c", ".", "::"), "a::b::c");
  EXPECT_EQ(ToLower("LEVEL_None"), "level_none");
}

TEST(Strings, NumbersAreStrict) {
  EXPECT_EQ(ParseInt64("-9223372036854775808"), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(ParseInt64("9223372036854775808"), std::nullopt);
  EXPECT_EQ(ParseInt64(" 1"), std::nullopt);
  EXPECT_EQ(ParseInt64("1 "), std::nullopt);
  EXPECT_EQ(ParseInt64(""), std::nullopt);
  EXPECT_EQ(ParseInt64("0x10"), std::nullopt);
  EXPECT_EQ(ParseUint64("-1"), std::nullopt);
  EXPECT_EQ(ParseDouble("1.5e3"), 1500.0);
  EXPECT_EQ(ParseDouble("1,5"), std::nullopt);
  EXPECT_EQ(ParseDouble("1e999"), std::nullopt);
}

TEST(Strings, MicrosecondsBecomeExactNanoseconds) {
  EXPECT_EQ(ParseMicrosecondsToNs("1736412474858579.088"), 1736412474858579088);
  EXPECT_EQ(ParseMicrosecondsToNs("123"), 123000);
  EXPECT_EQ(ParseMicrosecondsToNs("-0.001"), -1);
  EXPECT_EQ(ParseMicrosecondsToNs(".5"), 500);
  EXPECT_EQ(ParseMicrosecondsToNs("1.5e6"), 1'500'000'000);
  EXPECT_EQ(ParseMicrosecondsToNs("1234E-3"), 1234);
  EXPECT_EQ(ParseMicrosecondsToNs("5e-9"), 0);
  EXPECT_EQ(ParseMicrosecondsToNs("0e300"), 0);
  EXPECT_EQ(ParseMicrosecondsToNs("7."), 7000);
  EXPECT_EQ(ParseMicrosecondsToNs("7.25"), 7250);
  EXPECT_EQ(ParseMicrosecondsToNs("00000000000000000000007.25"), 7250);
  EXPECT_EQ(ParseMicrosecondsToNs("9999999999999999.999"), std::nullopt);
  EXPECT_EQ(ParseMicrosecondsToNs("12345678901234567"), std::nullopt);
}

TEST(Strings, MicrosecondsRoundHalfToEven) {
  EXPECT_EQ(ParseMicrosecondsToNs("0.0005"), 0);
  EXPECT_EQ(ParseMicrosecondsToNs("0.0015"), 2);
  EXPECT_EQ(ParseMicrosecondsToNs("0.0025"), 2);
  EXPECT_EQ(ParseMicrosecondsToNs("0.00250001"), 3);
  EXPECT_EQ(ParseMicrosecondsToNs("-0.0015"), -2);
  EXPECT_EQ(ParseMicrosecondsToNs("15e-4"), 2);
  EXPECT_EQ(ParseMicrosecondsToNs("6e-4"), 1);
}

TEST(Strings, MicrosecondsRefuseNonsenseAndOverflow) {
  for (const auto* text : {"", ".", "-", "1.2.3", "1e", "1e+-3", "0x1", "nan", "1 ", "1e9999"}) {
    EXPECT_EQ(ParseMicrosecondsToNs(text), std::nullopt) << text;
  }
  EXPECT_EQ(ParseMicrosecondsToNs("9223372036854775.807"), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(ParseMicrosecondsToNs("9223372036854775.808"), std::nullopt);
  EXPECT_EQ(ParseMicrosecondsToNs("-9223372036854775.808"), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(ParseMicrosecondsToNs("1e300"), std::nullopt);
}

TEST(Strings, NanosecondsBecomeMicroseconds) {
  EXPECT_EQ(NsToMicrosecondText(1736412474858579088), "1736412474858579.088");
  EXPECT_EQ(NsToMicrosecondText(0), "0.000");
  EXPECT_EQ(NsToMicrosecondText(-1), "-0.001");
  EXPECT_EQ(NsToMicrosecondText(std::numeric_limits<int64_t>::min()), "-9223372036854775.808");
}

TEST(Strings, DoublesReadAsPythonWritesThem) {
  EXPECT_EQ(PythonDoubleText(8868.240000000003), "8868.240000000003");
  EXPECT_EQ(PythonDoubleText(0.1), "0.1");
  EXPECT_EQ(PythonDoubleText(3), "3.0");
  EXPECT_EQ(PythonDoubleText(-0.0), "-0.0");
  EXPECT_EQ(PythonDoubleText(1e16), "1e+16");
  EXPECT_EQ(PythonDoubleText(9999999999999998.0), "9999999999999998.0");
  EXPECT_EQ(PythonDoubleText(1e15), "1000000000000000.0");
  EXPECT_EQ(PythonDoubleText(0.0001), "0.0001");
  EXPECT_EQ(PythonDoubleText(0.00001), "1e-05");
  EXPECT_EQ(PythonDoubleText(1.5e300), "1.5e+300");
  EXPECT_EQ(PythonDoubleText(5e-324), "5e-324");
  EXPECT_EQ(PythonDoubleText(std::numeric_limits<double>::infinity()), "inf");
}

TEST(Strings, TextsForPeople) {
  EXPECT_EQ(FormatBytes(820), "820 B");
  EXPECT_EQ(FormatBytes(1572864), "1.5 MiB");
  EXPECT_EQ(FormatDuration(850), "850 ns");
  EXPECT_EQ(FormatDuration(3'210'000), "3.21 ms");
}

TEST(Strings, EditDistance) {
  EXPECT_EQ(EditDistance("analyse", "analyze"), 1U);
  EXPECT_EQ(EditDistance("qurey", "query"), 1U);
  EXPECT_EQ(EditDistance("", "run"), 3U);
  EXPECT_EQ(EditDistance("run", "run"), 0U);
}

TEST(Strings, NamesAreShortenedInTheMiddle) {
  EXPECT_EQ(Shortened("aten::mm", 30), "aten::mm");
  const std::string name = "head_of_it_" + std::string(50, 'x') + "_kernel_of_20_bytes_";
  EXPECT_EQ(Shortened(name, 34), "head_of_it_..._kernel_of_20_bytes_");
  std::string letters;
  for (int i = 0; i < 40; ++i) letters += "\u00e9";
  for (size_t most = 30; most < 50; ++most) {
    const std::string text = Shortened("x" + letters, most);
    EXPECT_LE(text.size(), most);
    const size_t middle = text.find("...");
    EXPECT_EQ((middle - 1) % 2, 0U) << "whole letters before";
    EXPECT_EQ((text.size() - middle - 3) % 2, 0U) << "and behind";
  }
}

}  // namespace
}  // namespace sonde::base
