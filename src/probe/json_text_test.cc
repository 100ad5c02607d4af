#include "probe/json_text.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace sonde::probe {
namespace {

std::string Quoted(std::string_view text) {
  std::string out;
  AppendQuoted(out, text);
  return out;
}

TEST(JsonTextTest, TextsAreAscii) {
  EXPECT_EQ(Quoted("a\"b\\c\n\t"), R"("a\"b\\c\n\t")");
  EXPECT_EQ(Quoted("\x01\x7f"), R"("\u0001\u007f")");
  EXPECT_EQ(Quoted("gr\xc3\xbc\xc3\x9f \xe4\xb8\xad"), R"("gr\u00fc\u00df \u4e2d")");
  EXPECT_EQ(Quoted("\xf0\x9f\x98\x80"), R"("\ud83d\ude00")");
  EXPECT_EQ(Quoted("a\xff\xc3"), R"("a\ufffd\ufffd")");
}

TEST(JsonTextTest, NumbersAsPythonPrintsThem) {
  std::string out;
  for (const double value :
       {0.1, 3.0, 1e16, 1e-05, std::numeric_limits<double>::infinity(),
        -std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    AppendReal(out, value);
    out.push_back(' ');
  }
  EXPECT_EQ(out, "0.1 3.0 1e+16 1e-05 Infinity -Infinity NaN ");
}

TEST(JsonTextTest, Shapes) {
  std::string out;
  AppendShape(out, {}, 3);
  EXPECT_EQ(out, "[]");
  out.clear();
  const std::vector<int64_t> shape = {2, 0};
  AppendShape(out, shape, 1);
  EXPECT_EQ(out, "[\n  2,\n  0\n ]");
}

}  // namespace
}  // namespace sonde::probe
