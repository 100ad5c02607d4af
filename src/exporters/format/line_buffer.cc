#include "exporters/format/line_buffer.h"

#include <array>

namespace sonde::exporters {
namespace {

constexpr std::array<char, 200> MakePairs() {
  std::array<char, 200> pairs{};
  for (size_t i = 0; i < 100; ++i) {
    pairs[2 * i] = static_cast<char>('0' + i / 10);
    pairs[2 * i + 1] = static_cast<char>('0' + i % 10);
  }
  return pairs;
}
constexpr std::array<char, 200> kPairs = MakePairs();

}  // namespace

void LineBuffer::Digits(uint64_t value) {
  std::array<char, 20> text;
  size_t begin = text.size();
  while (value >= 100) {
    begin -= 2;
    std::memcpy(&text[begin], &kPairs[2 * (value % 100)], 2);
    value /= 100;
  }
  if (value >= 10) {
    begin -= 2;
    std::memcpy(&text[begin], &kPairs[2 * value], 2);
  } else {
    text[--begin] = static_cast<char>('0' + value);
  }
  Append(std::string_view(&text[begin], text.size() - begin));
}

std::string CsvCell(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string cell = "\"";
  for (const char c : text) {
    if (c == '"') cell += '"';
    cell += c;
  }
  cell += '"';
  return cell;
}

}  // namespace sonde::exporters
