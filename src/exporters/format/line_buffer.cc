#include "exporters/format/line_buffer.h"

namespace sonde::exporters {
namespace internal {
namespace {

constexpr char Digit(size_t value) { return static_cast<char>('0' + value % 10); }

constexpr std::array<Thousandths, 1000> MakeThousandths() {
  std::array<Thousandths, 1000> table{};
  for (size_t i = 0; i < table.size(); ++i) {
    table[i].text = {'.', Digit(i / 100), Digit(i / 10), Digit(i)};
    table[i].short_size = i % 10 != 0 ? 4 : i % 100 != 0 ? 3 : 2;
  }
  return table;
}

constexpr std::array<std::array<char, 2>, 100> MakePairs() {
  std::array<std::array<char, 2>, 100> pairs{};
  for (size_t i = 0; i < pairs.size(); ++i) pairs[i] = {Digit(i / 10), Digit(i)};
  return pairs;
}

}  // namespace

constexpr std::array<Thousandths, 1000> kThousandths = MakeThousandths();
constexpr std::array<std::array<char, 2>, 100> kPairs = MakePairs();

}  // namespace internal

void LineBuffer::Grow(size_t size) {
  while (capacity_ - size_ < size) capacity_ *= 2;
  std::unique_ptr<char[]> larger(new char[capacity_]);
  std::memcpy(larger.get(), data_.get(), size_);
  data_ = std::move(larger);
}

void LineBuffer::FormatSeconds(int64_t seconds) {
  seconds_ = seconds;
  char* begin = seconds_text_.data();
  seconds_size_ =
      static_cast<size_t>(std::to_chars(begin, begin + seconds_text_.size(), seconds).ptr - begin);
}

}  // namespace sonde::exporters
