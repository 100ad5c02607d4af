// Fuzz target of Kineto traces: from bytes, plain or packed, to slices linked with each other.
#include <cstdlib>

#include "importers/kineto/trace.h"
#include "importers/trace_events/fuzz_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace kineto = sonde::importers::kineto;
  const kineto::KinetoDialect dialect;
  sonde::importers::trace_events::EventStage stage(nullptr, dialect, {.threads = 1});
  const auto path = sonde::importers::trace_events::FuzzFile(data, size);
  if (!stage.Read(path).ok()) return 0;
  if (!stage.Arrange(1'700'000'000'000'000'000).ok()) std::abort();
  const kineto::KinetoTrace trace(stage);
  for (const int32_t slice : trace.device_work()) {
    if (trace.LaunchOf(slice).op >= stage.slice_count()) std::abort();
  }
  return 0;
}
