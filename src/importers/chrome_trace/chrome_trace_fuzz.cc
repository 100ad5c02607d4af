// Fuzz target of generic traces: from bytes, plain or packed, to nested and numbered slices.
#include <cstdlib>

#include "importers/trace_events/fuzz_file.h"
#include "importers/trace_events/stage.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using sonde::importers::trace_events::Dialect;
  using sonde::importers::trace_events::EventStage;
  const Dialect dialect;
  EventStage stage(nullptr, dialect, {.threads = 1});
  const auto path = sonde::importers::trace_events::FuzzFile(data, size);
  if (!stage.Read(path).ok()) return 0;
  if (!stage.Arrange(0).ok()) std::abort();
  return 0;
}
