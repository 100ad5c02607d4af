#include "cli/line_editor.h"

#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "base/strings.h"

namespace sonde::cli {
namespace {

constexpr char kEscape = '\x1b';
constexpr char kBackspace = '\x7f';
constexpr char Control(char letter) { return static_cast<char>(letter - '@'); }

bool IsContinuation(char byte) { return (static_cast<unsigned char>(byte) & 0xc0U) == 0x80U; }

size_t Letters(std::string_view text) {
  size_t count = 0;
  for (const char byte : text) count += IsContinuation(byte) ? 0 : 1;
  return count;
}

// Raw mode for as long as a line is read.
class RawMode {
 public:
  RawMode() {
    is_set_ = ::tcgetattr(STDIN_FILENO, &before_) == 0;
    if (!is_set_) return;
    termios raw = before_;
    raw.c_iflag &= ~static_cast<tcflag_t>(ICRNL | IXON | ISTRIP | INLCR);
    raw.c_lflag &= ~static_cast<tcflag_t>(ECHO | ICANON | IEXTEN | ISIG);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    ::tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
  }
  ~RawMode() {
    if (is_set_) ::tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
  }
  RawMode(const RawMode&) = delete;
  RawMode& operator=(const RawMode&) = delete;

 private:
  termios before_ = {};
  bool is_set_ = false;
};

size_t Columns() {
  constexpr size_t kUsual = 80;
  winsize size = {};
  const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : kUsual;
}

void Show(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace

void LineEditor::Begin() {
  text_.clear();
  cursor_ = 0;
  escape_.clear();
  shown_ = remembered_.size();
}

LineEditor::State LineEditor::Take(char byte) {
  if (!escape_.empty() || byte == kEscape) {
    TakeEscape(byte);
  } else if (static_cast<unsigned char>(byte) < ' ' || byte == kBackspace) {
    return TakeControl(byte);
  } else {
    Insert(byte);
  }
  return State::kTyping;
}

LineEditor::State LineEditor::TakeControl(char byte) {
  switch (byte) {
    case '\r':
    case '\n':
      return State::kDone;
    case Control('C'):
      return State::kCancelled;
    case Control('D'):
      if (text_.empty()) return State::kEnd;
      Erase(cursor_, Behind(cursor_));
      break;
    case kBackspace:
    case Control('H'):
      Erase(Before(cursor_), cursor_);
      break;
    case Control('A'):
      cursor_ = 0;
      break;
    case Control('E'):
      cursor_ = text_.size();
      break;
    case Control('B'):
      cursor_ = Before(cursor_);
      break;
    case Control('F'):
      cursor_ = Behind(cursor_);
      break;
    case Control('K'):
      Erase(cursor_, text_.size());
      break;
    case Control('U'):
      Erase(0, cursor_);
      break;
    case Control('W'):
      Erase(WordBefore(cursor_), cursor_);
      break;
    case Control('P'):
      MoveOrDelete('A');
      break;
    case Control('N'):
      MoveOrDelete('B');
      break;
    case '\t':
      Insert(' ');  // a tab would move what stands behind it
      break;
    default:
      break;
  }
  return State::kTyping;
}

// ESC [ digits ; digits letter, ESC O letter, ESC letter. What is not known does nothing.
void LineEditor::TakeEscape(char byte) {
  if (byte == kEscape) escape_.clear();
  escape_ += byte;
  constexpr size_t kLongest = 16;
  const bool is_open = escape_.size() == 1 ||
                       (escape_.size() == 2 && (byte == '[' || byte == 'O')) ||
                       (escape_.size() > 2 && escape_.size() < kLongest &&
                        ((byte >= '0' && byte <= '9') || byte == ';'));
  if (is_open) return;
  const std::string sequence = std::move(escape_);
  escape_.clear();
  const bool by_word = sequence.find(';') != std::string::npos || sequence.size() == 2;
  if (by_word && (byte == 'C' || byte == 'f')) {
    cursor_ = WordBehind(cursor_);
  } else if (by_word && (byte == 'D' || byte == 'b')) {
    cursor_ = WordBefore(cursor_);
  } else if (byte == '~' && sequence.size() == 4) {
    // Keys by number, as letters: 1 and 7 Home, 3 Delete, 4 and 8 End.
    constexpr std::string_view kLetters = "?H?XF??HF?";
    if (sequence[2] >= '0' && sequence[2] <= '9') {
      MoveOrDelete(kLetters[static_cast<size_t>(sequence[2] - '0')]);
    }
  } else if (sequence.size() > 2) {
    MoveOrDelete(byte);
  }
}

void LineEditor::MoveOrDelete(char final) {
  switch (final) {
    case 'A':
      if (shown_ > 0) ShowRemembered(shown_ - 1);
      break;
    case 'B':
      if (shown_ < remembered_.size()) ShowRemembered(shown_ + 1);
      break;
    case 'C':
      cursor_ = Behind(cursor_);
      break;
    case 'D':
      cursor_ = Before(cursor_);
      break;
    case 'H':
      cursor_ = 0;
      break;
    case 'F':
      cursor_ = text_.size();
      break;
    case 'X':
      Erase(cursor_, Behind(cursor_));
      break;
    default:
      break;
  }
}

void LineEditor::Insert(char byte) { text_.insert(cursor_++, 1, byte); }

void LineEditor::Erase(size_t begin, size_t end) {
  text_.erase(begin, end - begin);
  cursor_ = begin;
}

void LineEditor::ShowRemembered(size_t index) {
  if (shown_ == remembered_.size()) typed_ = text_;
  shown_ = index;
  text_ = index == remembered_.size() ? typed_ : remembered_[index];
  cursor_ = text_.size();
}

void LineEditor::Remember() {
  if (text_.empty() || (!remembered_.empty() && remembered_.back() == text_)) return;
  remembered_.push_back(text_);
}

size_t LineEditor::Before(size_t place) const {
  if (place > 0) --place;
  while (place > 0 && IsContinuation(text_[place])) --place;
  return place;
}

size_t LineEditor::Behind(size_t place) const {
  if (place < text_.size()) ++place;
  while (place < text_.size() && IsContinuation(text_[place])) ++place;
  return place;
}

size_t LineEditor::WordBefore(size_t place) const {
  while (place > 0 && text_[place - 1] == ' ') --place;
  while (place > 0 && text_[place - 1] != ' ') --place;
  return place;
}

size_t LineEditor::WordBehind(size_t place) const {
  while (place < text_.size() && text_[place] == ' ') ++place;
  while (place < text_.size() && text_[place] != ' ') ++place;
  return place;
}

std::string LineEditor::Screen(std::string_view prompt, size_t columns) const {
  const size_t room = columns > prompt.size() + 2 ? columns - prompt.size() - 1 : 1;
  size_t begin = 0;
  while (Letters(std::string_view(text_).substr(begin, cursor_ - begin)) >= room) {
    begin = Behind(begin);
  }
  size_t end = begin;
  for (size_t letters = 0; letters < room && end < text_.size(); ++letters) end = Behind(end);
  const std::string_view shown = std::string_view(text_).substr(begin, end - begin);
  const size_t column =
      prompt.size() + Letters(std::string_view(text_).substr(begin, cursor_ - begin));
  std::string screen = base::Concat("\r", prompt, shown, "\x1b[K\r");
  if (column > 0) screen += base::Concat("\x1b[", std::to_string(column), "C");
  return screen;
}

bool TerminalLines::IsPossible() {
  const char* const kind = std::getenv("TERM");
  return ::isatty(STDIN_FILENO) == 1 && ::isatty(STDERR_FILENO) == 1 && kind != nullptr &&
         std::string_view(kind) != "dumb" && *kind != '\0';
}

LineEditor::State TerminalLines::Read(std::string_view prompt, std::string& line) {
  using State = LineEditor::State;
  const RawMode raw;
  editor_.Begin();
  State state = State::kTyping;
  while (state == State::kTyping) {
    Show(editor_.Screen(prompt, Columns()));
    char byte = 0;
    const ssize_t got = ::read(STDIN_FILENO, &byte, 1);
    if (got < 0 && errno == EINTR) continue;  // the window got another size
    if (got <= 0) {
      state = State::kEnd;
    } else if (byte == Control('L')) {
      Show("\x1b[H\x1b[2J");
    } else {
      state = editor_.Take(byte);
    }
  }
  Show(state == State::kCancelled ? "^C\r\n" : "\r\n");
  line = state == State::kDone ? editor_.text() : std::string();
  editor_.Remember();
  return state;
}

}  // namespace sonde::cli
