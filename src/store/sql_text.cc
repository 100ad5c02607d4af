#include "store/sql_text.h"

#include <algorithm>

#include "base/strings.h"

namespace sonde::store {
namespace {

constexpr size_t kNowhere = std::string_view::npos;

bool IsLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool IsWordPart(char c) { return IsLetter(c) || (c >= '0' && c <= '9'); }
bool IsSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

size_t OrEnd(std::string_view sql, size_t place) { return std::min(place, sql.size()); }

// Behind the comment that begins at `at`, or `at` where none does. Comments of `/*` may be nested.
size_t BehindComment(std::string_view sql, size_t at) {
  const std::string_view rest = sql.substr(at);
  if (rest.starts_with("--")) return OrEnd(sql, sql.find_first_of("\r\n", at));
  if (!rest.starts_with("/*")) return at;
  int depth = 0;
  for (size_t i = at; i + 1 < sql.size(); ++i) {
    if (sql[i] == '/' && sql[i + 1] == '*') {
      ++depth;
      ++i;
    } else if (sql[i] == '*' && sql[i + 1] == '/') {
      --depth;
      if (++i; depth == 0) return i + 1;
    }
  }
  return sql.size();
}

// Behind the text in quotes that begins at `at`; a doubled quote reads as two texts.
size_t BehindQuotes(std::string_view sql, size_t at) {
  const bool has_escapes = sql[at] == '\'' && at > 0 &&
                           (sql[at - 1] == 'e' || sql[at - 1] == 'E') &&
                           (at == 1 || !IsWordPart(sql[at - 2]));
  for (size_t i = at + 1; i < sql.size(); ++i) {
    if (has_escapes && sql[i] == '\\') {
      ++i;
    } else if (sql[i] == sql[at]) {
      const bool is_doubled = i + 1 < sql.size() && sql[i + 1] == sql[at];
      if (!is_doubled) return i + 1;
      ++i;
    }
  }
  return sql.size();
}

// Behind the $tag$ text $tag$ that begins at `at`, or behind the `$` where none does.
size_t BehindDollars(std::string_view sql, size_t at) {
  size_t end = at + 1;
  while (end < sql.size() && IsWordPart(sql[end])) ++end;
  const bool is_tag =
      end < sql.size() && sql[end] == '$' && (end == at + 1 || IsLetter(sql[at + 1]));
  if (!is_tag) return at + 1;
  const std::string_view tag = sql.substr(at, end - at + 1);
  const size_t close = sql.find(tag, end + 1);
  return close == kNowhere ? sql.size() : close + tag.size();
}

// Behind the piece at `at`: a comment, a text, a word, or one character.
size_t BehindPiece(std::string_view sql, size_t at) {
  const char c = sql[at];
  if (const size_t behind = BehindComment(sql, at); behind != at) return behind;
  if (c == '\'' || c == '"') return BehindQuotes(sql, at);
  if (c == '$') return BehindDollars(sql, at);
  size_t end = at + 1;
  if (!IsWordPart(c)) return end;
  while (end < sql.size() && (IsWordPart(sql[end]) || sql[end] == '$')) ++end;
  return end;
}

}  // namespace

std::string SqlText(std::string_view text) {
  return base::Concat("'", base::ReplaceAll(text, "'", "''"), "'");
}

size_t SkipBlank(std::string_view sql) {
  size_t at = 0;
  while (at < sql.size()) {
    const size_t next = IsSpace(sql[at]) ? at + 1 : BehindComment(sql, at);
    if (next == at) break;
    at = next;
  }
  return at;
}

size_t EndOfStatement(std::string_view sql) {
  size_t at = 0;
  while (at < sql.size() && sql[at] != ';') at = BehindPiece(sql, at);
  return OrEnd(sql, at);
}

bool IsEnded(std::string_view sql) {
  bool is_ended = false;
  while (true) {
    sql.remove_prefix(SkipBlank(sql));
    if (sql.empty()) return is_ended;
    const size_t end = EndOfStatement(sql);
    is_ended = end < sql.size();
    sql.remove_prefix(is_ended ? end + 1 : end);
  }
}

}  // namespace sonde::store
