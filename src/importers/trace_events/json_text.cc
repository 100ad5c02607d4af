#include "importers/trace_events/json_text.h"

#include "base/strings.h"

namespace sonde::importers::trace_events {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
uint64_t Digit(char c) { return static_cast<uint64_t>(c - '0'); }

// Takes the digits behind the third decimal and rounds `value` half to even.
void RoundByRest(const char*& p, const char* end, uint64_t& value) {
  if (!IsDigit(*p)) return;
  const uint64_t first = Digit(*p++);
  bool more = false;
  for (; p < end && IsDigit(*p); ++p) more |= *p != '0';
  const bool up = first > 5 || (first == 5 && (more || value % 2 == 1));
  value += up ? 1 : 0;
}

void AppendUtf8(uint32_t code, std::string& out) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0U | (code >> 6U));
    out += static_cast<char>(0x80U | (code & 0x3fU));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0U | (code >> 12U));
    out += static_cast<char>(0x80U | ((code >> 6U) & 0x3fU));
    out += static_cast<char>(0x80U | (code & 0x3fU));
  } else {
    out += static_cast<char>(0xf0U | (code >> 18U));
    out += static_cast<char>(0x80U | ((code >> 12U) & 0x3fU));
    out += static_cast<char>(0x80U | ((code >> 6U) & 0x3fU));
    out += static_cast<char>(0x80U | (code & 0x3fU));
  }
}

// The four digits behind "\u"; false where they are none.
bool ParseHex4(std::string_view text, uint32_t& code) {
  if (text.size() < 4) return false;
  code = 0;
  for (size_t i = 0; i < 4; ++i) {
    const char c = text[i];
    uint32_t digit = 0;
    if (c >= '0' && c <= '9') {
      digit = static_cast<uint32_t>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      digit = static_cast<uint32_t>(c - 'a') + 10;
    } else if (c >= 'A' && c <= 'F') {
      digit = static_cast<uint32_t>(c - 'A') + 10;
    } else {
      return false;
    }
    code = code * 16 + digit;
  }
  return true;
}

// The escape "\u...." at the begin of `text`; returns its length, 0 where it is none.
size_t TakeUnicodeEscape(std::string_view text, std::string& out) {
  uint32_t code = 0;
  if (!ParseHex4(text.substr(2), code)) return 0;
  size_t length = 6;
  if (code >= 0xd800 && code < 0xdc00) {
    uint32_t low = 0;
    const bool pair = text.size() >= 12 && text[6] == '\\' && text[7] == 'u' &&
                      ParseHex4(text.substr(8), low) && low >= 0xdc00 && low < 0xe000;
    code = pair ? 0x10000 + ((code - 0xd800) << 10U) + (low - 0xdc00) : 0xfffd;
    if (pair) length = 12;
  } else if (code >= 0xdc00 && code < 0xe000) {
    code = 0xfffd;
  }
  AppendUtf8(code, out);
  return length;
}

char SimpleEscape(char c) {
  switch (c) {
    case 'n':
      return '\n';
    case 't':
      return '\t';
    case 'r':
      return '\r';
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case '"':
    case '\\':
    case '/':
      return c;
    default:
      return 0;
  }
}

}  // namespace

StringEnd FindStringEndFrom(const char* p, const char* end) {
  StringEnd found;
  while (true) {
    p = FindQuoteOrBackslash(p, end);
    if (p >= end) return found;
    if (*p == '\\') {
      found.escaped = true;
      p += 2;
      if (p > end) return found;
      continue;
    }
    if (MayEndString(p, end)) {
      found.quote = p;
      return found;
    }
    found.mended = true;
    ++p;
  }
}

const char* SkipContainer(const char* p, const char* end, int64_t& mended) {
  int64_t depth = 0;
  while (true) {
    p = FindStructure(p, end);
    if (p >= end) return nullptr;
    if (*p == '"') {
      const StringEnd string = FindStringEnd(p + 1, end);
      if (string.quote == nullptr) return nullptr;
      mended += string.mended ? 1 : 0;
      p = string.quote + 1;
      continue;
    }
    if (*p == '{' || *p == '[') {
      ++depth;
    } else if (--depth == 0) {
      return p + 1;
    }
    ++p;
  }
}

const char* SkipValue(const char* p, const char* end, int64_t& mended) {
  if (p >= end) return nullptr;
  if (*p == '{' || *p == '[') return SkipContainer(p, end, mended);
  if (*p == '"') {
    const StringEnd string = FindStringEnd(p + 1, end);
    mended += string.mended ? 1 : 0;
    return string.quote == nullptr ? nullptr : string.quote + 1;
  }
  const char* behind = SkipScalar(p, end);
  return behind == p ? nullptr : behind;
}

bool ParseMicroseconds(std::string_view text, int64_t& ns) {
  // The usual form, at most 15 digits, a point and three decimals, without more ado.
  const char* p = text.data();
  const char* const end = p + text.size();
  uint64_t value = 0;  // wraps around where there are too many digits: then not used
  const char* const digits = p;
  while (p < end && IsDigit(*p)) value = value * 10 + Digit(*p++);
  const auto whole = p - digits;
  if (whole > 0 && whole <= 15) {
    if (p == end) {
      ns = static_cast<int64_t>(value * 1000);
      return true;
    }
    if (*p == '.' && end - p > 1) {
      int decimals = 0;
      for (++p; p < end && decimals < 3 && IsDigit(*p); ++p, ++decimals) {
        value = value * 10 + Digit(*p);
      }
      for (int i = decimals; i < 3; ++i) value *= 10;
      if (p < end && decimals == 3) RoundByRest(p, end, value);
      if (p == end && decimals > 0) {
        ns = static_cast<int64_t>(value);
        return true;
      }
    }
  }
  const auto parsed = base::ParseMicrosecondsToNs(text);
  if (parsed) ns = *parsed;
  return parsed.has_value();
}

std::string Unescape(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const size_t backslash = text.find('\\');
    out.append(text.substr(0, backslash));
    if (backslash == std::string_view::npos) break;
    text.remove_prefix(backslash);
    size_t length = 0;
    if (text.size() > 1 && text[1] == 'u') {
      length = TakeUnicodeEscape(text, out);
    } else if (const char c = text.size() > 1 ? SimpleEscape(text[1]) : '\0'; c != 0) {
      out += c;
      length = 2;
    }
    if (length == 0) {
      out += '\\';
      length = 1;
    }
    text.remove_prefix(length);
  }
  return out;
}

}  // namespace sonde::importers::trace_events
