#include "base/strings.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numeric>

#include "base/check.h"

namespace sonde::base {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

template <class T>
std::optional<T> ParseWhole(std::string_view text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || text.empty()) return std::nullopt;
  return value;
}

template <class T>
std::string_view FormatWhole(T value, NumberBuffer& buffer) {
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  return {buffer.data(), static_cast<size_t>(end - buffer.data())};
}

// The parts of "[-]digits[.digits][e[sign]digits]"; at least one digit before the exponent.
struct DecimalParts {
  bool negative = false;
  std::string_view whole;
  std::string_view fraction;
  int64_t exponent = 0;
};

std::string_view TakeDigits(std::string_view& text) {
  const size_t n =
      static_cast<size_t>(std::find_if_not(text.begin(), text.end(), IsDigit) - text.begin());
  const std::string_view digits = text.substr(0, n);
  text.remove_prefix(n);
  return digits;
}

std::optional<DecimalParts> SplitDecimal(std::string_view text) {
  DecimalParts parts;
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) {
    parts.negative = text.front() == '-';
    text.remove_prefix(1);
  }
  parts.whole = TakeDigits(text);
  if (!text.empty() && text.front() == '.') {
    text.remove_prefix(1);
    parts.fraction = TakeDigits(text);
  }
  if (parts.whole.empty() && parts.fraction.empty()) return std::nullopt;
  if (text.empty()) return parts;
  if (text.front() != 'e' && text.front() != 'E') return std::nullopt;
  text.remove_prefix(1);
  if (!text.empty() && text.front() == '+') {
    text.remove_prefix(1);
    if (!text.empty() && text.front() == '-') return std::nullopt;
  }
  const auto exponent = ParseInt64(text);
  if (!exponent || *exponent > 400 || *exponent < -400) return std::nullopt;
  parts.exponent = *exponent;
  return parts;
}

// The usual form: up to 16 digits before the point and three behind; nullopt for all others, which
// the general way decides.
std::optional<int64_t> ParsePlainMicroseconds(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const std::string_view whole = TakeDigits(text);
  if (whole.empty() || whole.size() > 16) return std::nullopt;
  uint64_t value = 0;
  for (const char c : whole) value = value * 10 + static_cast<uint64_t>(c - '0');
  if (!text.empty() && text.front() != '.') return std::nullopt;
  if (!text.empty()) text.remove_prefix(1);
  const std::string_view fraction = TakeDigits(text);
  if (fraction.size() > 3 || !text.empty()) return std::nullopt;
  for (const char c : fraction) value = value * 10 + static_cast<uint64_t>(c - '0');
  for (size_t decimals = fraction.size(); decimals < 3; ++decimals) value *= 10;
  // 19 digits fit into 64 bits, but not all into 63.
  if (value > uint64_t{std::numeric_limits<int64_t>::max()}) return std::nullopt;
  return negative ? -static_cast<int64_t>(value) : static_cast<int64_t>(value);
}

// Rounds half to even: the digits from `rest` on are cut from a number that ends in `value`.
bool RoundsUp(uint64_t value, char first_cut, bool more_cut) {
  if (first_cut != '5') return first_cut > '5';
  return more_cut || (value & 1U) != 0;
}

}  // namespace

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::string ToLower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

std::string Capitalised(std::string_view text) {
  std::string out(text);
  if (!out.empty() && out[0] >= 'a' && out[0] <= 'z') out[0] = static_cast<char>(out[0] - 32);
  return out;
}

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool IsDigits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

std::string ReplaceAll(std::string_view text, std::string_view from, std::string_view to) {
  CHECK(!from.empty());
  std::string out;
  while (true) {
    const size_t at = text.find(from);
    out.append(text.substr(0, at));
    if (at == std::string_view::npos) return out;
    out.append(to);
    text.remove_prefix(at + from.size());
  }
}

std::optional<int64_t> ParseInt64(std::string_view text) { return ParseWhole<int64_t>(text); }
std::optional<uint64_t> ParseUint64(std::string_view text) { return ParseWhole<uint64_t>(text); }
std::optional<double> ParseDouble(std::string_view text) { return ParseWhole<double>(text); }

std::optional<int64_t> ParseMicrosecondsToNs(std::string_view text) {
  if (const auto plain = ParsePlainMicroseconds(text)) return plain;
  const auto parts = SplitDecimal(text);
  if (!parts) return std::nullopt;
  // Digits d of whole and fraction form an integer scaled by 10^(exponent - fraction size); the
  // result keeps the first `keep` of them.
  const auto digit_count = static_cast<int64_t>(parts->whole.size() + parts->fraction.size());
  const auto digit_at = [&](int64_t i) {
    const auto at = static_cast<size_t>(i);
    return at < parts->whole.size() ? parts->whole[at] : parts->fraction[at - parts->whole.size()];
  };
  const int64_t keep = static_cast<int64_t>(parts->whole.size()) + 3 + parts->exponent;
  constexpr uint64_t kLimit = uint64_t{1} << 63U;
  uint64_t value = 0;
  for (int64_t i = 0; i < keep; ++i) {
    if (value == 0 && i >= digit_count) break;
    const uint64_t digit = i < digit_count ? static_cast<uint64_t>(digit_at(i) - '0') : 0;
    if (value > (kLimit - digit) / 10) return std::nullopt;
    value = value * 10 + digit;
  }
  if (keep >= 0 && keep < digit_count) {
    bool more_cut = false;
    for (int64_t i = keep + 1; i < digit_count && !more_cut; ++i) more_cut = digit_at(i) != '0';
    if (RoundsUp(value, digit_at(keep), more_cut)) ++value;
  }
  if (value > kLimit || (value == kLimit && !parts->negative)) return std::nullopt;
  return static_cast<int64_t>(parts->negative ? uint64_t{0} - value : value);
}

std::string_view FormatNsAsMicroseconds(int64_t ns, NumberBuffer& buffer) {
  const uint64_t magnitude =
      ns < 0 ? uint64_t{0} - static_cast<uint64_t>(ns) : static_cast<uint64_t>(ns);
  char* out = buffer.data();
  if (ns < 0) *out++ = '-';
  out = std::to_chars(out, buffer.data() + buffer.size(), magnitude / 1000).ptr;
  const auto rest = static_cast<unsigned>(magnitude % 1000);
  *out++ = '.';
  *out++ = static_cast<char>('0' + rest / 100);
  *out++ = static_cast<char>('0' + rest / 10 % 10);
  *out++ = static_cast<char>('0' + rest % 10);
  return {buffer.data(), static_cast<size_t>(out - buffer.data())};
}

std::string NsToMicrosecondText(int64_t ns) {
  NumberBuffer buffer;
  return std::string(FormatNsAsMicroseconds(ns, buffer));
}

std::string_view FormatPythonDouble(double value, NumberBuffer& buffer) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  if (value == 0) return std::signbit(value) ? "-0.0" : "0.0";
  // Python takes the fixed form for decimal exponents from -4 to 15, with ".0" for whole numbers.
  const double magnitude = std::fabs(value);
  const bool fixed = magnitude >= 1e-4 && magnitude < 1e16;
  char* end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                            fixed ? std::chars_format::fixed : std::chars_format::scientific)
                  .ptr;
  if (fixed && std::find(buffer.data(), end, '.') == end) {
    *end++ = '.';
    *end++ = '0';
  }
  return {buffer.data(), static_cast<size_t>(end - buffer.data())};
}

std::string PythonDoubleText(double value) {
  NumberBuffer buffer;
  return std::string(FormatPythonDouble(value, buffer));
}

std::string_view FormatInt64(int64_t value, NumberBuffer& buffer) {
  return FormatWhole(value, buffer);
}
std::string_view FormatUint64(uint64_t value, NumberBuffer& buffer) {
  return FormatWhole(value, buffer);
}

std::string FormatBytes(uint64_t bytes) {
  constexpr std::array<const char*, 5> kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB"};
  if (bytes < 1024) return std::to_string(bytes) + " B";
  double scaled = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  for (; scaled >= 1024 && unit + 1 < kUnits.size(); ++unit) scaled /= 1024;
  NumberBuffer buffer;
  const int n = std::snprintf(buffer.data(), buffer.size(), "%.1f %s", scaled, kUnits[unit]);
  return {buffer.data(), static_cast<size_t>(n)};
}

std::string FormatDuration(int64_t ns) {
  const double magnitude = std::fabs(static_cast<double>(ns));
  const auto value = static_cast<double>(ns);
  NumberBuffer buffer;
  int n = 0;
  if (magnitude < 1e3) {
    n = std::snprintf(buffer.data(), buffer.size(), "%lld ns", static_cast<long long>(ns));
  } else if (magnitude < 1e6) {
    n = std::snprintf(buffer.data(), buffer.size(), "%.2f us", value / 1e3);
  } else if (magnitude < 1e9) {
    n = std::snprintf(buffer.data(), buffer.size(), "%.2f ms", value / 1e6);
  } else {
    n = std::snprintf(buffer.data(), buffer.size(), "%.2f s", value / 1e9);
  }
  return {buffer.data(), static_cast<size_t>(n)};
}

size_t EditDistance(std::string_view a, std::string_view b) {
  // Rows of the usual table: two back, one back, this one.
  std::vector<size_t> before(b.size() + 1);
  std::vector<size_t> above(b.size() + 1);
  std::vector<size_t> row(b.size() + 1);
  std::iota(above.begin(), above.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replaced, above[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    before.swap(above);
    above.swap(row);
  }
  return above[b.size()];
}

}  // namespace sonde::base
