#include "base/host/terminal_text.h"

#include <gtest/gtest.h>

namespace sonde::base {
namespace {

TEST(TerminalTextTest, ControlCharactersAreQuestionMarks) {
  EXPECT_EQ(ForTerminal("a\x1b[31mred"), "a?[31mred");
  EXPECT_EQ(ForTerminal("b\xc2\x9b"
                        "31m"),
            "b?31m");
  EXPECT_EQ(ForTerminal("x\x1b]0;T\x07y\x7f"), "x?]0;T?y?");
  EXPECT_EQ(ForTerminal("\x9b"
                        "31m"),
            "?31m");  // no UTF-8
  EXPECT_EQ(ForTerminal("a\xe2\x80\xae"
                        "b"),
            "a?b");  // right to left
  EXPECT_EQ(ForTerminal("a\r\nb\rc"), "a\nb?c");
  EXPECT_EQ(ForTerminal("\xe4\xb8\xad\xe6\x96\x87\t\xf0\x9f\x98\x80\n"),
            "\xe4\xb8\xad\xe6\x96\x87\t\xf0\x9f\x98\x80\n");
  EXPECT_EQ(ForTerminal("cut \xe4\xb8"), "cut ??");
}

TEST(TerminalTextTest, LinesHaveNoBreaks) { EXPECT_EQ(ForTerminalLine("a\nb\t\x1b"), "a b ?"); }

TEST(TerminalTextTest, JsonKeepsItsValues) {
  EXPECT_EQ(JsonForTerminal("{\"a\": \"b\xc2\x9b\x7f\"}\n"), "{\"a\": \"b\\u009b\\u007f\"}\n");
}

}  // namespace
}  // namespace sonde::base
