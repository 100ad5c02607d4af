// A line typed at a terminal, edited with the keys that people expect.
//
// Arrows, Home, End, Delete, Backspace, Ctrl+A E B F K U W D C L, and the lines before by the up
// and down arrows. LineEditor knows nothing of a terminal: bytes go in, text to be shown comes out.
// TerminalLines joins it with one: the terminal is in raw mode only while a line is read, so that
// Ctrl+C ends a statement that runs. One thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace sonde::cli {

class LineEditor {
 public:
  enum class State {
    kTyping,
    kDone,       // Enter
    kCancelled,  // Ctrl+C: the line is to be forgotten
    kEnd,        // Ctrl+D on an empty line
  };

  // A new, empty line.
  void Begin();
  // One byte that was typed.
  State Take(char byte);
  // UTF-8.
  const std::string& text() const { return text_; }
  // Adds the line to those that the arrows bring back.
  void Remember();
  // Redraws the line on the terminal's row; of a long line the part around the cursor.
  std::string Screen(std::string_view prompt, size_t columns) const;

 private:
  State TakeControl(char byte);
  void TakeEscape(char byte);
  void MoveOrDelete(char final);
  void Insert(char byte);
  void Erase(size_t begin, size_t end);
  void ShowRemembered(size_t index);
  size_t Before(size_t place) const;  // begin of the letter before
  size_t Behind(size_t place) const;  // end of the letter there
  size_t WordBefore(size_t place) const;
  size_t WordBehind(size_t place) const;

  std::string text_;
  size_t cursor_ = 0;   // in bytes
  std::string escape_;  // what has come of an escape sequence
  std::vector<std::string> remembered_;
  size_t shown_ = 0;   // of remembered_; its size: the line being typed
  std::string typed_;  // that, while another is shown
};

class TerminalLines {
 public:
  // Whether standard input and error are a terminal that can move its cursor.
  static bool IsPossible();
  // How the line ended; never kTyping. It has no line end, and is empty unless kDone.
  LineEditor::State Read(std::string_view prompt, std::string& line);

 private:
  LineEditor editor_;
};

}  // namespace sonde::cli
