// Keys of the prompt, byte by byte as terminals send them.
#include "cli/line_editor.h"

#include <gtest/gtest.h>

namespace sonde::cli {
namespace {

using State = LineEditor::State;

State Type(LineEditor& editor, std::string_view keys) {
  State state = State::kTyping;
  for (const char byte : keys) state = editor.Take(byte);
  return state;
}

std::string Typed(std::string_view keys) {
  LineEditor editor;
  editor.Begin();
  EXPECT_EQ(Type(editor, keys), State::kTyping);
  return editor.text();
}

TEST(LineEditorTest, MovesAndErases) {
  EXPECT_EQ(Typed("abd\x1b[Dc"), "abcd");
  EXPECT_EQ(Typed("abc\x1b[D\x7f"), "ac");
  EXPECT_EQ(Typed("abc\x1b[H\x1b[3~x"), "xbc");
  EXPECT_EQ(Typed("bc\x1b[1~a\x1b[4~d"), "abcd");
  EXPECT_EQ(Typed("bc\x1bOHa\x1bOF\x1b[Cd"), "abcd");
  EXPECT_EQ(Typed("bc\x01"
                  "a\x05"
                  "d"),
            "abcd");
  EXPECT_EQ(Typed("one two\x17three"), "one three");
  EXPECT_EQ(Typed("one two\x1b[1;5D\x0bx"), "one x");
  EXPECT_EQ(Typed("one two\x15x"), "x");
  EXPECT_EQ(Typed("\x7f\x1b[3~\x1b[D\x1b[C"), "");
}

TEST(LineEditorTest, LettersOfManyBytesAreOne) {
  EXPECT_EQ(Typed("\u00fc\u20ac\x7f"), "\u00fc");
  EXPECT_EQ(Typed("\u00fc\u20ac\x1b[D\x1b[Da"), "a\u00fc\u20ac");
  LineEditor editor;
  editor.Begin();
  Type(editor, "\u00fc\u20ac");
  EXPECT_EQ(editor.Screen("> ", 80), "\r> \u00fc\u20ac\x1b[K\r\x1b[4C");
}

TEST(LineEditorTest, UnknownKeysDoNothing) {
  EXPECT_EQ(Typed("a\x1b[99;99zb\x1b[5~c\x1b\x1b[Z"), "abc");
}

TEST(LineEditorTest, EndsOfALine) {
  LineEditor editor;
  editor.Begin();
  EXPECT_EQ(Type(editor, "\x04"), State::kEnd);
  EXPECT_EQ(Type(editor, "a\x01\x04"), State::kTyping);
  EXPECT_EQ(editor.text(), "");
  EXPECT_EQ(Type(editor, "ab\x03"), State::kCancelled);
  EXPECT_EQ(Type(editor, "\r"), State::kDone);
}

TEST(LineEditorTest, BringsLinesBack) {
  LineEditor editor;
  for (const std::string_view line : {"one", "two", "two", ""}) {
    editor.Begin();
    Type(editor, line);
    editor.Remember();
  }
  editor.Begin();
  Type(editor, "three\x1b[A");
  EXPECT_EQ(editor.text(), "two");
  Type(editor, "\x1b[A\x1b[A!");
  EXPECT_EQ(editor.text(), "one!");
  Type(editor, "\x1b[B\x1b[B");
  EXPECT_EQ(editor.text(), "three");
}

TEST(LineEditorTest, ShowsThePartAroundTheCursor) {
  LineEditor editor;
  editor.Begin();
  Type(editor, "0123456789");
  EXPECT_EQ(editor.Screen("> ", 8), "\r> 6789\x1b[K\r\x1b[6C");
  Type(editor, "\x1b[H");
  EXPECT_EQ(editor.Screen("> ", 8), "\r> 01234\x1b[K\r\x1b[2C");
}

}  // namespace
}  // namespace sonde::cli
