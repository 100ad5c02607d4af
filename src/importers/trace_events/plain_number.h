// Numbers in the forms that writers of traces use, read in one go.
//
// Pure, any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "importers/trace_events/json_text.h"

namespace sonde::importers::trace_events {

struct PlainNumber {
  const char* behind = nullptr;  // nullptr: no number in these forms; others may be one
  bool is_integer = false;
  int64_t integer = 0;
  double fraction = 0;  // its shortest text, as Python writes it, is the one that was read
};

namespace internal {
inline constexpr std::array<double, 16> kPowersOfTen = {
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
// Below, Python writes an exponent.
inline constexpr double kLeastFraction = 1e-4;

inline bool IsDigitByte(char c) { return c >= '0' && c <= '9'; }
}  // namespace internal

// An integer of at most 18 digits, or a decimal fraction of at most 15. Such a fraction is the
// quotient of two numbers that a double holds exactly, and no shorter text leads to that double.
inline PlainNumber ReadPlainNumber(const char* p, const char* end) {
  constexpr ptrdiff_t kMaxInteger = 18;
  constexpr ptrdiff_t kMaxFraction = 15;
  const bool negative = p < end && *p == '-';
  if (negative) ++p;
  const char* const begin = p;
  int64_t digits = 0;
  while (p < end && internal::IsDigitByte(*p) && p - begin < kMaxInteger) {
    digits = digits * 10 + (*p++ - '0');
  }
  const ptrdiff_t whole = p - begin;
  if (whole == 0 || p >= end) return {};
  if (*begin == '0' && whole > 1) return {};
  if (EndsScalar(*p)) {
    if (negative && digits == 0) return {};
    return {p, true, negative ? -digits : digits, 0};
  }
  if (*p != '.') return {};
  const char* const point = p++;
  while (p < end && internal::IsDigitByte(*p) && p - begin <= kMaxFraction + 1) {
    digits = digits * 10 + (*p++ - '0');
  }
  const ptrdiff_t decimals = p - point - 1;
  if (decimals == 0 || whole + decimals > kMaxFraction || p >= end || !EndsScalar(*p)) return {};
  if (p[-1] == '0' && decimals > 1) return {};
  const double value =
      static_cast<double>(digits) / internal::kPowersOfTen[static_cast<size_t>(decimals)];
  if (value < internal::kLeastFraction && digits != 0) return {};
  return {p, false, 0, negative ? -value : value};
}

}  // namespace sonde::importers::trace_events
