#include "store/statement_message.h"

#include <algorithm>

#include "base/host/terminal_text.h"
#include "base/shortened.h"
#include "base/strings.h"
#include "store/duckdb_statements.h"
#include "store/statement_hints.h"

namespace sonde::store::internal {
namespace {

// A failed table gives its own reason; the database puts its own kind of error before it. The
// picture of the statement needs lines of its own. A value may hold the same words: the last count.
std::string_view WithoutPicture(std::string_view message) {
  const size_t own = message.find(kOwnWords);
  if (own != std::string_view::npos) message.remove_prefix(own + kOwnWords.size());
  message = message.substr(0, message.rfind("\n\nLINE "));
  message = message.substr(0, message.rfind("\n\nStack Trace"));
  return base::Trim(message);
}

bool IsOfWord(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// Bytes of the value in quotes at the front of `text`; 0: it does not begin with one.
size_t QuotedSize(std::string_view text) {
  if (text.front() != '\'' && text.front() != '"') return 0;
  for (size_t end = text.find(text.front(), 1); end != std::string_view::npos;
       end = text.find(text.front(), end + 1)) {
    if (end + 1 == text.size() || !IsOfWord(text[end + 1])) return end + 1;
  }
  return 0;
}

std::string WithShortValues(std::string_view message) {
  std::string shown;
  while (!message.empty()) {
    const bool is_inside_a_word = !shown.empty() && IsOfWord(shown.back());
    const size_t size = std::max<size_t>(1, is_inside_a_word ? 0 : QuotedSize(message));
    const std::string_view part = message.substr(0, size);
    const bool is_path = part.substr(1).starts_with('/');  // of a file, which is to be found
    shown += is_path ? std::string(part) : base::Shortened(part);
    message.remove_prefix(size);
  }
  return shown;
}

}  // namespace

std::string StatementMessage(std::string_view message, std::string_view statement,
                             std::span<const std::string> made) {
  // What no quotes are around is cut as a whole, with room for what stands behind it.
  constexpr size_t kMost = 600;
  constexpr size_t kTail = 200;
  const std::string with_hint = WithHint(WithoutPicture(message), statement, made);
  return base::Shortened(WithShortValues(base::ForTerminalLine(with_hint)), kMost, kTail);
}

std::string OutOfMemoryMessage(std::string_view message) {
  constexpr std::string_view kOutOfMemory = "Out of Memory Error: ";
  if (!message.starts_with(kOutOfMemory)) return {};
  message.remove_prefix(kOutOfMemory.size());
  return std::string(base::Trim(message.substr(0, message.find('\n'))));
}

}  // namespace sonde::store::internal
