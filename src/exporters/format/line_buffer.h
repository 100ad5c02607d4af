// A growing buffer of characters with the number formats of the ecosystem's text files, for the
// files that have a line or event per operator.
//
// base::CsvWriter and base::JsonWriter are the writers of choice for small files; here the caller
// appends ready fragments (an escaped name, a whole run of constant cells) between numbers, which
// costs a copy each. Formats:
//   Microseconds        123456 ns -> 123.456      always three decimals
//   MicrosecondsShort   123400 ns -> 123.4        as Python prints the double: at least one decimal
// Threads: one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

namespace sonde::exporters {

class LineBuffer {
 public:
  explicit LineBuffer(size_t capacity = size_t{1} << 20U)
      : capacity_(capacity), data_(new char[capacity]) {}

  std::string_view text() const { return {data_.get(), size_}; }
  size_t size() const { return size_; }
  void Clear() { size_ = 0; }

  void Append(std::string_view text) {
    Reserve(text.size());
    std::memcpy(data_.get() + size_, text.data(), text.size());
    size_ += text.size();
  }
  void Append(char c) {
    Reserve(1);
    data_[size_++] = c;
  }
  void Int(int64_t value) {
    if (value < 0) {
      Append('-');
      Digits(0 - static_cast<uint64_t>(value));
    } else {
      Digits(static_cast<uint64_t>(value));
    }
  }
  void Microseconds(int64_t ns) {
    const uint64_t magnitude = Sign(ns);
    Digits(magnitude / 1000);
    Decimals(static_cast<unsigned>(magnitude % 1000), 3);
  }
  void MicrosecondsShort(int64_t ns) {
    const uint64_t magnitude = Sign(ns);
    Digits(magnitude / 1000);
    const auto decimals = static_cast<unsigned>(magnitude % 1000);
    Decimals(decimals, decimals % 10 != 0 ? 3 : decimals % 100 != 0 ? 2 : 1);
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
  void Reserve(size_t size) {
    if (capacity_ - size_ < size) [[unlikely]]
      Grow(size);
  }
  void Grow(size_t size) {
    while (capacity_ - size_ < size) capacity_ *= 2;
    std::unique_ptr<char[]> larger(new char[capacity_]);
    std::memcpy(larger.get(), data_.get(), size_);
    data_ = std::move(larger);
  }
  uint64_t Sign(int64_t ns) {
    if (ns >= 0) return static_cast<uint64_t>(ns);
    Append('-');
    return 0 - static_cast<uint64_t>(ns);
  }
  void Digits(uint64_t value);
  void Decimals(unsigned thousandths, size_t count) {
    Reserve(4);
    char* out = data_.get() + size_;
    out[0] = '.';
    out[1] = static_cast<char>('0' + thousandths / 100);
    out[2] = static_cast<char>('0' + thousandths / 10 % 10);
    out[3] = static_cast<char>('0' + thousandths % 10);
    size_ += count + 1;
  }

  size_t size_ = 0;
  size_t capacity_;
  std::unique_ptr<char[]> data_;
};

// A fragment for a cell of a CSV row, quoted as Python's csv module does, where needed.
std::string CsvCell(std::string_view text);

}  // namespace sonde::exporters
