#include "exporters/format/result_sinks.h"

#include <charconv>

#include "exporters/format/line_buffer.h"

namespace sonde::exporters {

void CsvSink::Text(std::string_view value) { Add(CsvCell(value)); }

std::string NumberCell(double value) {
  constexpr int kDecimals = 6;
  char buffer[400];
  const auto end =
      std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::fixed, kDecimals);
  return {buffer, end.ptr};
}

}  // namespace sonde::exporters
