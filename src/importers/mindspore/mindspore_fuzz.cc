// Fuzz target of MindSpore's files: the first byte selects the file.
#include <cstdint>
#include <string_view>

#include "importers/mindspore/trace.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sonde::importers;  // NOLINT(google-build-using-namespace): one function
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const SpanFile file{"f", "f"};
  TraceRows rows;
  mindspore::RangeRows ranges(rows);
  // Files of two parts: the second is behind the first zero byte.
  const size_t cut = text.find('\0');
  const std::string_view first = text.substr(0, cut);
  const std::string_view second = cut == std::string_view::npos ? "" : text.substr(cut + 1);
  switch (data[0] % 4) {
    case 0:
      mindspore::ReadOperators(file, first, second, 7, rows);
      break;
    case 1:
      mindspore::ReadRuntimeProfile(file, first, second, ranges, rows);
      break;
    case 2: {
      const mindspore::TickClock clock{true, 1000, 1'700'000'000'000'000'000, 2'596'132};
      mindspore::ReadOpRange(file, text, clock, ranges, rows);
      break;
    }
    default:
      mindspore::ReadMemoryRecord(file, text, rows.Process(7), rows);
  }
  ranges.Finish();
  rows.Arrange();
  return 0;
}
