#include "precision/dump/json_scanner.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>

#include "base/strings.h"

namespace sonde::precision {
namespace {

constexpr bool IsJsonBlank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

// Which bytes end a literal: everything that can follow one in JSON.
constexpr std::array<bool, 256> kEndsLiteral = [] {
  std::array<bool, 256> ends = {};
  for (const char c : {' ', '\n', '\r', '\t', ',', ']', '}'}) ends[static_cast<uint8_t>(c)] = true;
  return ends;
}();
constexpr bool EndsLiteral(char c) { return kEndsLiteral[static_cast<uint8_t>(c)]; }

// The first quote or backslash, eight bytes at a time; `end` when there is none.
const char* FindQuoteOrSlash(const char* p, const char* end) {
  constexpr uint64_t kOnes = 0x0101010101010101;
  constexpr uint64_t kHighs = kOnes * 0x80;
  for (; end - p >= 8; p += 8) {
    uint64_t bytes = 0;
    std::memcpy(&bytes, p, sizeof bytes);
    // A byte that is zero behind the exclusive or borrows from its highest bit.
    const uint64_t quote = bytes ^ (kOnes * '"');
    const uint64_t slash = bytes ^ (kOnes * '\\');
    if ((((quote - kOnes) & ~quote) | ((slash - kOnes) & ~slash)) & kHighs) break;
  }
  while (p != end && *p != '"' && *p != '\\') ++p;
  return p;
}

std::optional<uint32_t> ParseHex4(std::string_view text, size_t position) {
  if (position + 4 > text.size()) return std::nullopt;
  uint32_t value = 0;
  for (size_t i = position; i < position + 4; ++i) {
    const char c = text[i];
    uint32_t digit = 0;
    if (c >= '0' && c <= '9') {
      digit = static_cast<uint32_t>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      digit = static_cast<uint32_t>(c - 'a' + 10);
    } else if (c >= 'A' && c <= 'F') {
      digit = static_cast<uint32_t>(c - 'A' + 10);
    } else {
      return std::nullopt;
    }
    value = value * 16 + digit;
  }
  return value;
}

void AppendUtf8(uint32_t code, std::string* out) {
  const auto put = [out](uint32_t byte) { out->push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0U | (code >> 6U));
    put(0x80U | (code & 0x3FU));
  } else if (code < 0x10000) {
    put(0xE0U | (code >> 12U));
    put(0x80U | ((code >> 6U) & 0x3FU));
    put(0x80U | (code & 0x3FU));
  } else {
    put(0xF0U | (code >> 18U));
    put(0x80U | ((code >> 12U) & 0x3FU));
    put(0x80U | ((code >> 6U) & 0x3FU));
    put(0x80U | (code & 0x3FU));
  }
}

}  // namespace

void JsonScanner::SkipBlanks() {
  while (cursor_ != end_ && IsJsonBlank(*cursor_)) ++cursor_;
}

void JsonScanner::Fail(std::string message) {
  if (failed_) return;
  failed_ = true;
  message_ = std::move(message);
  error_offset_ = static_cast<size_t>(cursor_ - begin_);
  cursor_ = end_;
}

void JsonScanner::FailAtEnd(std::string message) {
  ran_out_ = ran_out_ || !failed_;
  Fail(std::move(message));
}

Status JsonScanner::status() const {
  if (!failed_) return Status::Ok();
  return base::CorruptDataError(
      base::Concat(source_, ": byte ", std::to_string(error_offset_), ": ", message_));
}

JsonScanner::Kind JsonScanner::Peek() {
  SkipBlanks();
  if (cursor_ == end_) {
    FailAtEnd("the text ends too early");
    return Kind::kError;
  }
  switch (*cursor_) {
    case '{':
      return Kind::kObject;
    case '[':
      return Kind::kArray;
    case '"':
      return Kind::kString;
    case 't':
    case 'f':
      return Kind::kBool;
    case 'n':
      return Kind::kNull;
    case 'N':
    case 'I':
    case '-':
      return Kind::kNumber;
    default:
      if (*cursor_ >= '0' && *cursor_ <= '9') return Kind::kNumber;
      Fail(base::Concat("unexpected character '", std::string_view(cursor_, 1), "'"));
      return Kind::kError;
  }
}

bool JsonScanner::Expect(char c) {
  SkipBlanks();
  if (cursor_ == end_) {
    FailAtEnd("the text ends too early");
    return false;
  }
  if (*cursor_ != c) {
    Fail(base::Concat("expected '", std::string_view(&c, 1), "'"));
    return false;
  }
  ++cursor_;
  return true;
}

void JsonScanner::BeginObject() {
  if (!Expect('{')) return;
  if (++depth_ > kMaxDepth) Fail("nested deeper than 1000 levels");
  first_ = true;
}

void JsonScanner::BeginArray() {
  if (!Expect('[')) return;
  if (++depth_ > kMaxDepth) Fail("nested deeper than 1000 levels");
  first_ = true;
}

bool JsonScanner::NextKey(std::string_view* key) {
  SkipBlanks();
  if (failed_ || cursor_ == end_) {
    FailAtEnd("the text ends too early");
    return false;
  }
  if (*cursor_ == '}') {
    ++cursor_;
    --depth_;
    first_ = false;
    return false;
  }
  if (!first_ && !Expect(',')) return false;
  first_ = false;
  *key = String();
  return Expect(':');
}

bool JsonScanner::NextElement() {
  SkipBlanks();
  if (failed_ || cursor_ == end_) {
    FailAtEnd("the text ends too early");
    return false;
  }
  if (*cursor_ == ']') {
    ++cursor_;
    --depth_;
    first_ = false;
    return false;
  }
  if (!first_ && !Expect(',')) return false;
  first_ = false;
  return true;
}

std::string_view JsonScanner::RawString(bool* has_escape) {
  const char* const from = cursor_ + 1;
  const char* p = FindQuoteOrSlash(from, end_);
  *has_escape = p != end_ && *p == '\\';
  // A backslash takes what stands behind it.
  while (p != end_ && *p == '\\') p = end_ - p < 2 ? end_ : FindQuoteOrSlash(p + 2, end_);
  if (p == end_) {
    FailAtEnd("a string has no end");
    return {};
  }
  cursor_ = p + 1;
  return {from, static_cast<size_t>(p - from)};
}

std::string_view JsonScanner::String() {
  SkipBlanks();
  if (cursor_ == end_) {
    FailAtEnd("the text ends too early");
    return {};
  }
  if (*cursor_ != '"') {
    Fail("expected a string");
    return {};
  }
  bool has_escape = false;
  const std::string_view raw = RawString(&has_escape);
  return has_escape ? Unescape(raw) : raw;
}

bool JsonScanner::AppendUnicodeEscape(std::string_view raw, size_t* position) {
  const auto first = ParseHex4(raw, *position);
  if (!first) return false;
  *position += 4;
  uint32_t code = *first;
  const bool high = code >= 0xD800 && code < 0xDC00;
  if (high && raw.substr(*position, 2) == "\\u") {
    const auto second = ParseHex4(raw, *position + 2);
    if (second && *second >= 0xDC00 && *second < 0xE000) {
      code = 0x10000U + ((code - 0xD800U) << 10U) + (*second - 0xDC00U);
      *position += 6;
    }
  }
  // A lone half of a pair has no UTF-8 form.
  AppendUtf8(code >= 0xD800 && code < 0xE000 ? 0xFFFDU : code, &scratch_);
  return true;
}

std::string_view JsonScanner::Unescape(std::string_view raw) {
  static constexpr std::string_view kNames = "\"\\/bfnrt";
  static constexpr std::array<char, 8> kValues = {'"', '\\', '/', '\b', '\f', '\n', '\r', '\t'};
  scratch_.clear();
  for (size_t i = 0; i < raw.size();) {
    if (raw[i] != '\\') {
      scratch_.push_back(raw[i++]);
      continue;
    }
    const char name = raw[i + 1];  // RawString() never ends behind a lone backslash
    i += 2;
    const size_t which = kNames.find(name);
    if (which != std::string_view::npos) {
      scratch_.push_back(kValues[which]);
    } else if (name != 'u' || !AppendUnicodeEscape(raw, &i)) {
      Fail("a string holds an unknown escape");
      return {};
    }
  }
  return scratch_;
}

std::string_view JsonScanner::Literal() {
  SkipBlanks();
  const char* const from = cursor_;
  while (cursor_ != end_ && !EndsLiteral(*cursor_)) ++cursor_;
  if (cursor_ == from) Fail("expected a value");
  return {from, static_cast<size_t>(cursor_ - from)};
}

std::string_view JsonScanner::SkipValue() {
  SkipBlanks();
  const char* const from = cursor_;
  size_t open = 0;
  do {
    SkipBlanks();
    if (cursor_ == end_) {
      FailAtEnd("the text ends too early");
      return {};
    }
    const char c = *cursor_;
    if (c == '{' || c == '[') {
      ++open;
      ++cursor_;
    } else if (c == '}' || c == ']') {
      if (open == 0) {
        Fail("expected a value");
        return {};
      }
      --open;
      ++cursor_;
    } else if (c == '"') {
      bool has_escape = false;
      RawString(&has_escape);
    } else if (c == ',' || c == ':') {
      if (open == 0) {
        Fail("expected a value");
        return {};
      }
      ++cursor_;
    } else {
      while (cursor_ != end_ && !EndsLiteral(*cursor_) && *cursor_ != ':' && *cursor_ != '"') {
        ++cursor_;
      }
    }
  } while (open > 0 && !failed_);
  return failed_ ? std::string_view() : RawSince(from);
}

void JsonScanner::ExpectEnd() {
  SkipBlanks();
  if (cursor_ != end_) Fail("more text behind the end of the document");
}

const char* JsonScanner::ValueBegin() {
  SkipBlanks();
  return cursor_;
}

}  // namespace sonde::precision
