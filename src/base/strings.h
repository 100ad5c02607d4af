// Text helpers: split, join, trim, strict number parsing, number formatting, decimal microseconds.
//
// Parsing is strict: the whole text must be the number, no blanks, no locale, no overflow; else
// nullopt. Times are integer nanoseconds; their decimal text in microseconds never passes through a
// double. Pure, any thread; views refer to the caller's text.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sonde::base {

// "a,,b" -> {"a", "", "b"}; "" -> {""}.
std::vector<std::string_view> Split(std::string_view text, char separator);

// Without blanks, tabs, CR and LF at both ends.
std::string_view Trim(std::string_view text);

template <class Range>
std::string Join(const Range& parts, std::string_view separator) {
  std::string out;
  bool first = true;
  for (const auto& part : parts) {
    if (!first) out.append(separator);
    first = false;
    out.append(std::string_view(part));
  }
  return out;
}

// All parts after another, in one allocation.
template <class... Parts>
std::string Concat(const Parts&... parts) {
  std::string out;
  out.reserve((std::string_view(parts).size() + ... + 0));
  (out.append(std::string_view(parts)), ...);
  return out;
}

// ASCII only; other bytes stay.
std::string ToLower(std::string_view text);
// The first letter as a capital, where it is one of ASCII.
std::string Capitalised(std::string_view text);
bool Contains(std::string_view text, std::string_view part);
// Decimal digits, one at least.
bool IsDigits(std::string_view text);

// Every occurrence of `from` (not empty) becomes `to`.
std::string ReplaceAll(std::string_view text, std::string_view from, std::string_view to);

std::optional<int64_t> ParseInt64(std::string_view text);
std::optional<uint64_t> ParseUint64(std::string_view text);
// Decimal or exponent form, also "inf" and "nan".
std::optional<double> ParseDouble(std::string_view text);

// "123.456" -> 123456 ns. Any number of decimals, beyond the third rounded half to even; an
// exponent ("1.5e6") is allowed. Nullopt for anything else and beyond the range of int64_t.
std::optional<int64_t> ParseMicrosecondsToNs(std::string_view text);

// Large enough for every number below; the formatters return the written text.
using NumberBuffer = std::array<char, 40>;

// 123456 ns -> "123.456": always three decimals.
std::string_view FormatNsAsMicroseconds(int64_t ns, NumberBuffer& buffer);
std::string NsToMicrosecondText(int64_t ns);

// The shortest text that reads back as the same double, exactly as Python's repr() writes it:
// "0.1", "3.0", "1e+16", "1e-05", "inf", "nan".
std::string_view FormatPythonDouble(double value, NumberBuffer& buffer);
std::string PythonDoubleText(double value);

std::string_view FormatInt64(int64_t value, NumberBuffer& buffer);
std::string_view FormatUint64(uint64_t value, NumberBuffer& buffer);

// For people: "1.5 MiB", "820 B".
std::string FormatBytes(uint64_t bytes);
// For people: "3.21 ms", "850 ns", "2.5 s".
std::string FormatDuration(int64_t ns);

// Smallest number of inserted, deleted, replaced or swapped neighbouring letters between two short
// texts; finds the command that was meant.
size_t EditDistance(std::string_view a, std::string_view b);

}  // namespace sonde::base
