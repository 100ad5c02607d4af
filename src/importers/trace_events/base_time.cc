#include "importers/trace_events/base_time.h"

#include "base/strings.h"
#include "importers/trace_events/issues.h"

namespace sonde::importers::trace_events {

int64_t TakeBaseTime(EventStage& stage) {
  constexpr int64_t kMaxBase = 4'000'000'000'000'000'000;
  for (const auto& [key, value] : stage.metadata()) {
    if (key != "baseTimeNanoseconds") continue;
    const auto base_ns = base::ParseInt64(value);
    if (base_ns && *base_ns >= 0 && *base_ns <= kMaxBase) return *base_ns;
    stage.issues().Add(kBadBase, stage.path());
    break;
  }
  return 0;
}

}  // namespace sonde::importers::trace_events
