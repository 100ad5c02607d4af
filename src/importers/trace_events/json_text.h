// Steps through JSON text without building anything: the ends of strings and containers, decimal
// microseconds to nanoseconds, unescaping.
//
// All take [p, end) and return nullptr where the text ends before the value does. They accept more
// than JSON. A quote inside a string that was not escaped (known of older Kineto files) is taken as
// part of the string when the text behind it cannot follow a string; bare words count as scalars.
// Pure, any thread.
#pragma once

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace sonde::importers::trace_events {

inline const char* SkipSpace(const char* p, const char* end) {
  while (p < end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t')) ++p;
  return p;
}

// The first '"' or '\' of [p, end), else end.
inline const char* FindQuoteOrBackslash(const char* p, const char* end) {
#if defined(__SSE2__)
  const __m128i quote = _mm_set1_epi8('"');
  const __m128i backslash = _mm_set1_epi8('\\');
  while (p + 16 <= end) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    const int mask = _mm_movemask_epi8(
        _mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, backslash)));
    if (mask != 0) return p + __builtin_ctz(static_cast<unsigned>(mask));
    p += 16;
  }
#endif
  while (p < end && *p != '"' && *p != '\\') ++p;
  return p;
}

// The first of "[]{} in [p, end), else end.
inline const char* FindStructure(const char* p, const char* end) {
#if defined(__SSE2__)
  const __m128i quote = _mm_set1_epi8('"');
  const __m128i open = _mm_set1_epi8('{');
  const __m128i close = _mm_set1_epi8('}');
  const __m128i fold = _mm_set1_epi8(0x20);  // '[' and ']' become '{' and '}'
  while (p + 16 <= end) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    const __m128i folded = _mm_or_si128(bytes, fold);
    const __m128i found =
        _mm_or_si128(_mm_cmpeq_epi8(bytes, quote),
                     _mm_or_si128(_mm_cmpeq_epi8(folded, open), _mm_cmpeq_epi8(folded, close)));
    const int mask = _mm_movemask_epi8(found);
    if (mask != 0) return p + __builtin_ctz(static_cast<unsigned>(mask));
    p += 16;
  }
#endif
  while (p < end && *p != '"' && *p != '[' && *p != ']' && *p != '{' && *p != '}') ++p;
  return p;
}

struct StringEnd {
  const char* quote = nullptr;  // the closing one; nullptr: none
  bool escaped = false;         // holds a backslash
  bool repaired = false;        // holds quotes that should have been escaped
};

// Whether a string may end at `quote`, by the text behind it.
inline bool MayEndString(const char* quote, const char* end) {
  const char* next = SkipSpace(quote + 1, end);
  return next == end || *next == ',' || *next == ':' || *next == '}' || *next == ']';
}

// Goes on where the string did not end at the first quote or backslash, `p`.
StringEnd FindStringEndFrom(const char* p, const char* end);

// `p` is behind the opening quote.
inline StringEnd FindStringEnd(const char* p, const char* end) {
  p = FindQuoteOrBackslash(p, end);
  if (p < end && *p == '"' && MayEndString(p, end)) return {p, false, false};
  return FindStringEndFrom(p, end);
}

// `p` is at '{' or '['; returns the place behind the bracket that closes it. Nesting may be of any
// depth. `repaired` counts strings with unescaped quotes.
const char* SkipContainer(const char* p, const char* end, int64_t& repaired);

namespace internal {
inline constexpr std::array<bool, 256> kEndsScalar = [] {
  std::array<bool, 256> ends{};
  for (const char c : {',', '}', ']', ' ', '\n', '\r', '\t', '"', '{', '[', ':'}) {
    ends[static_cast<uint8_t>(c)] = true;
  }
  return ends;
}();
}  // namespace internal

// Whether a number or word ends before this byte.
inline bool EndsScalar(char c) { return internal::kEndsScalar[static_cast<uint8_t>(c)]; }

// Behind the number or word at `p`.
inline const char* SkipScalar(const char* p, const char* end) {
  while (p < end && !EndsScalar(*p)) ++p;
  return p;
}

// Behind any value; nullptr also where there is none.
const char* SkipValue(const char* p, const char* end, int64_t& repaired);

// The decimal number at `p` in its usual form; returns the place behind it. nullptr for forms that
// need the function below, and where there is none.
const char* ParseMicroseconds(const char* p, const char* end, int64_t& ns);

// Decimal microseconds, as number or exponent form, to nanoseconds; false where it is no such
// number or does not fit.
bool ParseMicroseconds(std::string_view text, int64_t& ns);

// Without backslashes; bad escapes stay as they are, lone surrogates become U+FFFD.
std::string Unescape(std::string_view text);

}  // namespace sonde::importers::trace_events
