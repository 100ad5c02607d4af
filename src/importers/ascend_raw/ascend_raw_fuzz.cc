// Fuzz target of raw records: the first byte says which file it is.
#include <array>
#include <cstdint>
#include <string_view>

#include "importers/ascend_raw/framework.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sonde::importers;  // NOLINT(google-build-using-namespace): one function
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  constexpr std::array<std::string_view, 6> kFiles = {
      "torch.op_range",           "torch.op_mark",
      "torch.memory_usage",       "torch.python_tracer_func",
      "torch.python_tracer_hash", "torch.gc_record",
  };
  TraceRows rows;
  raw::FrameworkLayer layer(rows);
  const raw::Clock clock{.start_ticks = 1000,
                         .start_ns = 5'000'000,
                         .kilohertz = 38'400,
                         .wall = 1'700'000'000'000'000'000,
                         .is_known = true};
  // Two files: the second behind the first mark, and of another kind.
  const size_t cut = text.find("\xff\xfe");
  const size_t kind = data[0] % kFiles.size();
  layer.Read({kFiles.at(kind), text.substr(0, cut), rows.issues}, clock);
  if (cut != std::string_view::npos) {
    const size_t other = data[0] / kFiles.size() % kFiles.size();
    layer.Read({kFiles.at(other), text.substr(cut + 2), rows.issues}, clock);
  }
  layer.Finish();
  rows.Arrange();
  return 0;
}
