// A growing buffer of characters with the number formats of the ecosystem's text files, for the
// files that have a line or event per operator.
//
// report::CsvWriter and base::JsonWriter are the writers of choice for small files; here the caller
// appends ready fragments (a name by report::CsvCell, a whole run of constant cells) between
// numbers, which costs 1 to 5 ns each. Formats:
//   Microseconds        123456 ns -> 123.456      always three decimals
//   MicrosecondsShort   123400 ns -> 123.4        as Python prints the double: at least one decimal
// Threads: one.
#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "report/csv_writer.h"

namespace sonde::exporters {

using report::CsvCell;

namespace internal {

// ".000" to ".999", and the length without the zeros at the end (".0" keeps one).
struct Thousandths {
  std::array<char, 4> text;
  uint8_t short_size;
};
extern const std::array<Thousandths, 1000> kThousandths;
// "00" to "99"
extern const std::array<std::array<char, 2>, 100> kPairs;

// Texts of up to 64 bytes, of which most fragments are, without a call.
inline void CopyText(char* out, const char* in, size_t size) {
  if (size < 16 || size > 64) {
    std::memcpy(out, in, size);
    return;
  }
  if (size > 32) {
    std::memcpy(out + 16, in + 16, 16);
    std::memcpy(out + size - 32, in + size - 32, 16);
  }
  std::memcpy(out, in, 16);
  std::memcpy(out + size - 16, in + size - 16, 16);
}

}  // namespace internal

class LineBuffer {
 public:
  explicit LineBuffer(size_t capacity = size_t{1} << 20U)
      : capacity_(capacity), data_(new char[capacity]) {}

  std::string_view text() const { return {data_.get(), size_}; }
  size_t size() const { return size_; }
  void Clear() { size_ = 0; }

  void Append(std::string_view text) {
    internal::CopyText(Reserve(text.size()), text.data(), text.size());
    size_ += text.size();
  }
  // Literals: their size is known, so that the copy is a few moves.
  template <size_t n>
  void Append(const char (&literal)[n]) {
    std::memcpy(Reserve(n - 1), literal, n - 1);
    size_ += n - 1;
  }
  void Append(char c) {
    *Reserve(1) = c;
    ++size_;
  }
  // Of a character that has been appended.
  void Replace(size_t position, char c) { data_[position] = c; }

  void Int(int64_t value) {
    char* out = Reserve(kMaxDigits);
    size_ += static_cast<size_t>(std::to_chars(out, out + kMaxDigits, value).ptr - out);
  }
  void Microseconds(int64_t ns) {
    if (ns < kNsPerSecond) return MicrosecondsSlow(ns);
    const int64_t seconds = ns / kNsPerSecond;
    const auto rest_ns = static_cast<uint32_t>(ns - seconds * kNsPerSecond);
    if (seconds != seconds_) [[unlikely]]
      FormatSeconds(seconds);
    char* out = Reserve(kMaxDigits + 10);
    std::memcpy(out, seconds_text_.data(), kMaxDigits);
    out += seconds_size_;
    const uint32_t us = rest_ns / 1000;
    std::memcpy(out, &internal::kPairs[us / 10000], 2);
    std::memcpy(out + 2, &internal::kPairs[us / 100 % 100], 2);
    std::memcpy(out + 4, &internal::kPairs[us % 100], 2);
    std::memcpy(out + 6, &internal::kThousandths[rest_ns % 1000].text, 4);
    size_ += seconds_size_ + 10;
  }
  void MicrosecondsShort(int64_t ns) {
    const internal::Thousandths& decimals = internal::kThousandths[WholeMicroseconds(ns)];
    std::memcpy(Reserve(4), &decimals.text, 4);
    size_ += decimals.short_size;
  }
  // As MicrosecondsShort, but zero is "0": the peer's sums of nothing.
  void MicrosecondsOrZero(int64_t ns) {
    if (ns == 0) {
      Append('0');
    } else {
      MicrosecondsShort(ns);
    }
  }

 private:
  static constexpr size_t kMaxDigits = 20;
  static constexpr int64_t kNsPerSecond = 1'000'000'000;

  // Where the next `size` characters go.
  char* Reserve(size_t size) {
    if (capacity_ - size_ < size) [[unlikely]]
      Grow(size);
    return data_.get() + size_;
  }
  void Grow(size_t size);
  // Sign and microseconds; returns the thousandths that follow.
  size_t WholeMicroseconds(int64_t ns) {
    uint64_t magnitude = static_cast<uint64_t>(ns);
    if (ns < 0) [[unlikely]] {
      Append('-');
      magnitude = 0 - magnitude;
    }
    char* out = Reserve(kMaxDigits);
    size_ += static_cast<size_t>(std::to_chars(out, out + kMaxDigits, magnitude / 1000).ptr - out);
    return magnitude % 1000;
  }
  void MicrosecondsSlow(int64_t ns) {
    const internal::Thousandths& decimals = internal::kThousandths[WholeMicroseconds(ns)];
    std::memcpy(Reserve(4), &decimals.text, 4);
    size_ += 4;
  }
  void FormatSeconds(int64_t seconds);

  size_t size_ = 0;
  size_t capacity_;
  std::unique_ptr<char[]> data_;
  // Times follow each other closely: the text of their seconds is made once.
  int64_t seconds_ = 0;
  size_t seconds_size_ = 0;
  std::array<char, kMaxDigits> seconds_text_ = {};
};

}  // namespace sonde::exporters
