#include "importers/trace_events/json_text.h"

#include <bit>
#include <cstring>

#include "base/bits.h"
#include "base/strings.h"

namespace sonde::importers::trace_events {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
uint64_t Digit(char c) { return static_cast<uint64_t>(c - '0'); }

constexpr uint64_t kMaxMicroseconds = 9'000'000'000'000'000;

bool AreEightDigits(const char* p) {
  uint64_t bytes = 0;
  std::memcpy(&bytes, p, sizeof(bytes));
  return ((bytes & 0xf0f0f0f0f0f0f0f0U) |
          (((bytes + 0x0606060606060606U) & 0xf0f0f0f0f0f0f0f0U) >> 4U)) == 0x3333333333333333U;
}

// Pairs of digits, then of pairs, then of fours, in one word.
uint64_t EightDigits(const char* p) {
  uint64_t bytes = 0;
  std::memcpy(&bytes, p, sizeof(bytes));
  bytes -= 0x3030303030303030U;
  bytes = bytes * 10 + (bytes >> 8U);
  constexpr uint64_t kMask = 0x000000ff000000ffU;
  return ((bytes & kMask) * (100 + (uint64_t{1'000'000} << 32U)) +
          ((bytes >> 16U) & kMask) * (1 + (uint64_t{10'000} << 32U))) >>
         32U;
}

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
    found.repaired = true;
    ++p;
  }
}

namespace {

// Goes on at `p`, `depth` brackets deep, maybe inside a string.
const char* SkipContainerFrom(const char* p, const char* end, int64_t depth, bool in_string,
                              int64_t& repaired) {
  while (true) {
    if (!in_string) {
      p = FindStructure(p, end);
      if (p >= end) return nullptr;
      if (*p == '{' || *p == '[') ++depth;
      if ((*p == '}' || *p == ']') && --depth == 0) return p + 1;
      in_string = *p++ == '"';
      continue;
    }
    const StringEnd string = FindStringEnd(p, end);
    if (string.quote == nullptr) return nullptr;
    repaired += string.repaired ? 1 : 0;
    p = string.quote + 1;
    in_string = false;
  }
}

#if defined(__SSE2__)
// Classes of 64 bytes, a bit each.
struct Block {
  uint64_t quotes = 0;
  uint64_t backslashes = 0;
  uint64_t opens = 0;       // { [
  uint64_t closes = 0;      // } ]
  uint64_t may_follow = 0;  // bytes that may directly follow a string: , : } ]

  explicit Block(const char* p) {
    for (unsigned i = 0; i < 4; ++i) {
      const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + size_t{16} * i));
      const __m128i folded = _mm_or_si128(bytes, _mm_set1_epi8(0x20));  // [ ] become { }
      const auto mask = [&](__m128i equal) {
        return static_cast<uint64_t>(static_cast<uint32_t>(_mm_movemask_epi8(equal))) << (16 * i);
      };
      const __m128i close = _mm_cmpeq_epi8(folded, _mm_set1_epi8('}'));
      const __m128i mark = _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(',')),
                                        _mm_cmpeq_epi8(bytes, _mm_set1_epi8(':')));
      quotes |= mask(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')));
      backslashes |= mask(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\')));
      opens |= mask(_mm_cmpeq_epi8(folded, _mm_set1_epi8('{')));
      closes |= mask(close);
      may_follow |= mask(_mm_or_si128(close, mark));
    }
  }
};

// Bit i: whether an odd number of the bits up to i is set.
uint64_t PrefixXor(uint64_t bits) {
  for (unsigned shift = 1; shift < 64; shift *= 2) bits ^= bits << shift;
  return bits;
}
#endif

}  // namespace

// 64 bytes at a time, as long as every string is a plain one; the rest is for SkipContainerFrom.
const char* SkipContainer(const char* p, const char* end, int64_t& repaired) {
  int64_t depth = 0;
  uint64_t in_string = 0;  // all bits or none
#if defined(__SSE2__)
  uint64_t ends_before = 0;  // a string ended with the byte before
  for (; end - p >= 64; p += 64) {
    const Block block(p);
    const uint64_t inside = PrefixXor(block.quotes) ^ in_string;  // with the quote that opens
    const uint64_t string_ends = block.quotes & ~inside;
    uint64_t opens = block.opens & ~inside;
    uint64_t closes = block.closes & ~inside;
    uint64_t seen = ~uint64_t{0};  // the bytes that matter
    const char* behind = nullptr;
    int64_t depth_here = depth;
    for (; closes != 0 && behind == nullptr; closes &= closes - 1) {
      const uint64_t below = (closes & (0 - closes)) - 1;
      depth_here += base::CountBits(opens & below) - 1;
      opens &= ~below;
      if (depth_here != 0) continue;
      behind = p + std::countr_zero(closes) + 1;
      seen = below;
    }
    // Escapes, white space behind a string, and quotes that should be escaped: the slow way.
    const uint64_t follows = ((string_ends & seen) << 1U) | ends_before;
    if ((block.backslashes & seen) != 0 || (follows & ~block.may_follow) != 0) {
      if (ends_before != 0 && (block.may_follow & 1U) == 0) {
        // The quote before this block may not end a string.
        return SkipContainerFrom(p - 1, end, depth, true, repaired);
      }
      break;
    }
    if (behind != nullptr) return behind;
    depth = depth_here + base::CountBits(opens);
    in_string = 0 - (inside >> 63U);
    ends_before = string_ends >> 63U;
  }
#endif
  return SkipContainerFrom(p, end, depth, in_string != 0, repaired);
}

const char* SkipValue(const char* p, const char* end, int64_t& repaired) {
  if (p >= end) return nullptr;
  if (*p == '{' || *p == '[') return SkipContainer(p, end, repaired);
  if (*p == '"') {
    const StringEnd string = FindStringEnd(p + 1, end);
    repaired += string.repaired ? 1 : 0;
    return string.quote == nullptr ? nullptr : string.quote + 1;
  }
  const char* behind = SkipScalar(p, end);
  return behind == p ? nullptr : behind;
}

const char* ParseMicroseconds(const char* p, const char* end, int64_t& ns) {
  // The usual form, at most 16 digits, a point and decimals, on a fast path.
  const char* const begin = p;
  uint64_t value = 0;
  if (end - p >= 8 && AreEightDigits(p)) {
    value = EightDigits(p);
    p += 8;
    if (end - p >= 8 && AreEightDigits(p)) {
      value = value * 100'000'000 + EightDigits(p);
      p += 8;
    }
  }
  while (p < end && IsDigit(*p) && p - begin <= 16) value = value * 10 + Digit(*p++);
  const auto whole = p - begin;
  if (whole > 0 && whole <= 16 && value < kMaxMicroseconds) {
    value *= 1000;
    if (p < end && *p == '.') {
      uint64_t nanoseconds = 0;
      int decimals = 0;
      for (++p; p < end && decimals < 3 && IsDigit(*p); ++decimals) {
        nanoseconds = nanoseconds * 10 + Digit(*p++);
      }
      if (decimals == 0) return nullptr;
      for (; decimals < 3; ++decimals) nanoseconds *= 10;
      value += nanoseconds;
      if (p < end) RoundByRest(p, end, value);
    }
    ns = static_cast<int64_t>(value);
    return p;
  }
  return nullptr;
}

bool ParseMicroseconds(std::string_view text, int64_t& ns) {
  const char* const end = text.data() + text.size();
  if (ParseMicroseconds(text.data(), end, ns) == end) return true;
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
